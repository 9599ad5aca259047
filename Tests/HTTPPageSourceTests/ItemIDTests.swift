#if HTTP
import PageModel
import Testing

@testable import HTTPPageSource

@Suite("Splitting: ids, and open containers")
struct ItemIDTests {
    @Test(
        "An id has the same text at any place of its member",
        arguments: [
            (#""a""#, "a"),
            (
                #""äö 😀 and a long text that fills several blocks of bytes""#,
                "äö 😀 and a long text that fills several blocks of bytes"
            ),
            (#""a\n""#, "a\n"), (#""A""#, "A"), (#""\ud800""#, nil), ("1", "1"), ("1.0", "1.0"), ("null", nil),
            ("{}", nil), (#""""#, ""), (#""a\\""#, "a\\"), (#""\"""#, "\""),
        ] as [(String, String?)])
    func places(value: String, expected: String?) throws {
        for item in [
            #"{"id":\#(value),"x":1}"#, #"{ "id" : \#(value) , "x" : 1 }"#, #"{"x":"id","id":\#(value)}"#,
            #"{"id":\#(value),"id":"other"}"#, #"{"i\u0064":\#(value)}"#, "{\n\t\"id\"\n:\n\(value)\n}",
        ] {
            let content = try JSONItems.split(Array("[\(item)]".utf8), id: JSONPointer("/id"))
            #expect(Array(content.ids) == [expected], "\(item)")
            #expect(content.items.map { String(decoding: $0.payload, as: UTF8.self) } == [item])
        }
    }

    @Test(
        "The name of an id can have any characters",
        arguments: [
            ("/", #"{"":"e"}"#, "e"), ("/a\"b", #"{"a\"b":"q"}"#, "q"), ("/a\\b", #"{"a\\b":"s"}"#, "s"),
            ("/id\":\"x", #"{"id":"x"}"#, nil), ("/a\\n", #"{"a\n":"line"}"#, nil), ("/ä", #"{"ä":"u"}"#, "u"),
        ] as [(String, String, String?)])
    func names(pointer: String, item: String, expected: String?) throws {
        let content = try JSONItems.split(Array("[\(item)]".utf8), id: JSONPointer(pointer))
        #expect(Array(content.ids) == [expected])
    }

    @Test("Arrays and objects of any depth must close in the right order", arguments: [1, 63, 64, 65, 128, 129, 300])
    func nesting(depth: Int) throws {
        let opened = (0..<depth).map { $0.isMultiple(of: 3) ? "[" : #"{"a":"# }.joined()
        let closed = (0..<depth).reversed().map { $0.isMultiple(of: 3) ? "]" : "}" }
        _ = try JSONDocument(Array((opened + "1" + closed.joined()).utf8), depthLimit: 300)
        for wrong in Set([0, depth / 2, depth - 1]) {
            var other = closed
            other[wrong] = other[wrong] == "]" ? "}" : "]"
            #expect(throws: JSONError.malformed(at: opened.utf8.count + 1 + wrong)) {
                try JSONDocument(Array((opened + "1" + other.joined()).utf8), depthLimit: 300)
            }
        }
    }
}
#endif
