#if HTTP
import Foundation
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("JSON documents")
struct JSONDocumentTests {
    private func document(_ text: String, depth: Int = 64) throws -> JSONDocument {
        try JSONDocument(Array(text.utf8), depthLimit: depth)
    }

    @Test("what RFC 8259 allows is taken", arguments: [
        "{}", "[]", " [ ] ", "null", "true", "-0", "0", "1.5e+10", "1E-2", #""""#, #""\u00e9\"\\\/\b\f\n\r\t""#, #"{"a":{"b":[1,[2,{}]]}}"#,
        "\u{FEFF}[1]", #"["\ud800"]"#, "[1\n,\t2 ]", #"{"":0}"#,
    ])
    func valid(text: String) throws {
        _ = try document(text)
    }

    @Test("everything else is not", arguments: [
        "", " ", "[", "]", "[1,]", "[,1]", "[1 2]", "{", "{1:2}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "01", "+1", "1.", ".5", "1e", "-",
        "tru", "nul", "'a'", #""a"#, #""\x""#, #""\u12g4""#, "\"a\nb\"", "[1] x", "<html>", "NaN", "[1}", #"{"a":1]"#, "\u{0}", "[\"a\u{1}\"]",
    ])
    func invalid(text: String) {
        #expect(throws: JSONError.self) { try document(text) }
    }

    @Test("every truncation of a document is refused, and none reads past its end")
    func truncations() throws {
        let text = Array(#"{"items":[{"id":"a\u00fc","n":-1.5e3,"t":true,"x":null}],"total":1}"#.utf8)
        for length in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONDocument(Array(text.prefix(length)), depthLimit: 64) }
        }
    }

    @Test("random bytes and random damage never crash", arguments: 0..<2_000)
    func fuzz(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var text = Array(#"{"items":[{"id":"a\u00fc","n":-1.5e3,"t":true,"x":[null,[],{}]}],"next":"/a?b=c","total":"12"}"#.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            text[Int.random(in: 0..<text.count, using: &random)] = Bool.random(using: &random)
                ? UInt8.random(in: 0...255, using: &random) : Array("{}[]\",:\\u0".utf8).randomElement(using: &random)!
        }
        guard let document = try? JSONDocument(text, depthLimit: 8) else { return }
        // Whatever was taken can be walked to its last value.
        func walk(_ value: JSONValue) {
            _ = document.string(value)
            _ = document.integer(value)
            for element in document.elements(of: value) { walk(element) }
            for member in document.members(of: value) { walk(member.value) }
        }
        walk(document.root)
        // What we take, Foundation takes (it is laxer in places); the bytes it was damaged to may not be UTF-8.
        if String(validating: text, as: UTF8.self) != nil, !text.contains(UInt8(ascii: "\\")) {
            #expect((try? JSONSerialization.jsonObject(with: Data(text), options: [.fragmentsAllowed])) != nil, "seed \(seed)")
        }
    }

    @Test("nesting ends at the limit, without using up the stack")
    func depth() throws {
        _ = try document(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
        #expect(throws: JSONError.tooDeep) { try document(String(repeating: "[", count: 65) + String(repeating: "]", count: 65)) }
        #expect(throws: JSONError.tooDeep) { try document(String(repeating: "[", count: 200_000)) }
    }

    @Test("R7: values are cut out as they were sent")
    func raw() throws {
        let document = try document(#"{"items" : [ {"n":1.0e400, "ü":"\u00fc"} ,1.50 , "a\"b" ]}"#)
        let elements = document.elements(of: document.value(at: JSONPointer("/items")!)!)
        #expect(elements.map { String(decoding: document.raw($0), as: UTF8.self) } == [#"{"n":1.0e400, "ü":"\u00fc"}"#, "1.50", #""a\"b""#])
    }

    @Test("strings are unescaped, surrogates paired, lone ones replaced")
    func strings() throws {
        func string(_ text: String) throws -> String? { try document(text).string(try document(text).root) }
        #expect(try string(#""a\"\\\/\b\f\n\r\t\u00fc\ud83d\ude00""#) == "a\"\\/\u{8}\u{c}\n\r\tü😀")
        #expect(try string(#""\ud83dx\ude00""#) == "\u{FFFD}x\u{FFFD}")
        #expect(try string(#""\ud83d\u0041""#) == "\u{FFFD}A")
    }

    @Test("R44: numbers in any spelling; what is none is none", arguments: [
        ("30", 30), ("-1", -1), ("30.0", 30), ("3e1", 30), ("\"30\"", 30), ("\" 30 \"", 30), ("1e30", Int.max), ("10000000000000000000", Int.max),
    ] as [(String, Int?)] + [("1.5", nil), ("\"x\"", nil), ("\"\"", nil), ("null", nil), ("true", nil), ("\"0x1F\"", nil), ("\"inf\"", nil)])
    func numbers(text: String, number: Int?) throws {
        let document = try document(text)
        #expect(document.integer(document.root) == number)
    }

    @Test("RFC 6901: the examples of its section 5")
    func pointers() throws {
        let document = try document(#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#)
        func number(_ pointer: String) -> Int? { JSONPointer(pointer).flatMap { document.value(at: $0) }.flatMap { document.integer($0) } }
        #expect(JSONPointer("").flatMap { document.value(at: $0) } == document.root)
        #expect(JSONPointer("/foo/0").flatMap { document.value(at: $0) }.flatMap { document.string($0) } == "bar")
        #expect(["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"].map(number) == [0, 1, 2, 3, 4, 5, 6, 7, 8])
        for pointer in ["/foo/2", "/foo/00", "/foo/-", "/nope", "/foo/0/x"] { #expect(number(pointer) == nil) }
        for text in ["foo", "/~", "/~2"] { #expect(JSONPointer(text) == nil) }
        for text in ["", "/", "/a~1b/m~0n/0"] { #expect(JSONPointer(text)?.description == text) }
    }
}

#endif
