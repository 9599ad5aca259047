#if HTTP
import Foundation
import PageModel
import Testing

@testable import HTTPPageSource

@Suite("JSON documents")
struct JSONDocumentTests {
    private func document(_ text: String, depth: Int = 64) throws -> JSONDocument {
        try JSONDocument(Array(text.utf8), depthLimit: depth)
    }

    @Test(
        "Texts that RFC 8259 allows are accepted",
        arguments: [
            "{}", "[]", " [ ] ", "null", "true", "-0", "0", "1.5e+10", "1E-2", #""""#, #""\u00e9\"\\\/\b\f\n\r\t""#,
            #"{"a":{"b":[1,[2,{}]]}}"#,
            "\u{FEFF}[1]", #"["\ud800"]"#, "[1\n,\t2 ]", #"{"":0}"#,
        ])
    func valid(text: String) throws {
        _ = try document(text)
    }

    @Test(
        "Texts that RFC 8259 does not allow are refused",
        arguments: [
            "", " ", "[", "]", "[1,]", "[,1]", "[1 2]", "{", "{1:2}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "01", "+1",
            "1.", ".5", "1e", "-",
            "tru", "nul", "'a'", #""a"#, #""\x""#, #""\u12g4""#, "\"a\nb\"", "[1] x", "<html>", "NaN", "[1}",
            #"{"a":1]"#, "\u{0}", "[\"a\u{1}\"]",
        ])
    func invalid(text: String) {
        #expect(throws: JSONError.self) { try document(text) }
    }

    @Test("Every truncation of a document is refused, without a read beyond its end")
    func truncations() throws {
        let text = Array(#"{"items":[{"id":"a\u00fc","n":-1.5e3,"t":true,"x":null}],"total":1}"#.utf8)
        for length in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONDocument(Array(text.prefix(length)), depthLimit: 64) }
        }
    }

    @Test(
        "A text that is not valid UTF-8 to the last byte is refused (RFC 8259, 8.1)",
        arguments: [
            [0xFF], [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xE0, 0x80, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80],
            [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func brokenText(bytes: [UInt8]) {
        // The loop covers every position within a word of eight bytes.
        for place in 0..<20 {
            let text =
                [UInt8(ascii: "\"")] + Array(repeating: UInt8(ascii: "a"), count: place) + bytes
                + Array(#"bcdefghijkl""#.utf8)
            #expect(throws: JSONError.malformed(at: place + 1)) { try JSONDocument(text, depthLimit: 8) }
        }
    }

    @Test(
        "Unicode scalars of every length are accepted",
        arguments: ["\u{7F}\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}"])
    func wholeText(scalars: String) throws {
        for place in 0..<20 {
            let text = String(repeating: "a", count: place) + scalars
            let document = try document("\"\(text)\"")
            #expect(document.string(document.root) == text)
        }
    }

    @Test("A control character, a quote and an escape are recognized at every position")
    func places() throws {
        for place in 0..<40 {
            let front = String(repeating: "x", count: place)
            for code in 0..<0x20 as Range<UInt8> {
                #expect(throws: JSONError.malformed(at: place + 1)) {
                    try JSONDocument(Array("\"\(front)".utf8) + [code] + Array("abcdefgh\"".utf8), depthLimit: 8)
                }
            }
            #expect(throws: JSONError.malformed(at: place + 3)) { try self.document("\"\(front)\" x") }
            let document = try document("[\"\(front)\\\"y\",2]")
            #expect(document.elements(of: document.root).map { document.raw($0).count } == [place + 5, 1])
        }
    }

    @Test("Nesting ends at the limit, without stack overflow")
    func depth() throws {
        _ = try document(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
        #expect(throws: JSONError.tooDeep) {
            try document(String(repeating: "[", count: 65) + String(repeating: "]", count: 65))
        }
        #expect(throws: JSONError.tooDeep) { try document(String(repeating: "[", count: 200_000)) }
        // Nesting within a high limit does not overflow the stack either.
        let deep = try document(
            String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000), depth: 200_000)
        #expect(deep.root == JSONValue(start: 0, end: 400_000))
        #expect(deep.elements(of: deep.root) == [JSONValue(start: 1, end: 399_999)])
    }

    @Test("A mark leads past the content of a long array or object, and short ones are traversed")
    func marks() throws {
        let long = String(repeating: "x", count: 64)
        let text = Array(#"{"a":[["\#(long)"],[1],["\#(long)"]],"b":{"c":"\#(long)"},"d":[]}"#.utf8)
        try text.withUnsafeBufferPointer { buffer in
            var checker = JSONChecker(JSONBytes(buffer), depthLimit: 8)
            let end = try checker.check(0)
            #expect(end == text.count)
            #expect(checker.marks.map(\.next) == [5, 4, 3, 4, 5])
            #expect(checker.marks.allSatisfy { buffer[$0.end - 1] == buffer[$0.start] + 2 })
        }
        // This document exceeds the number of kept marks. Elements without a mark are traversed.
        let count = JSONChecker.mostMarks + 10
        let document = try document("[" + String(repeating: #"["\#(long)"],"#, count: count) + "1]")
        let elements = document.elements(of: document.root)
        #expect(elements.count == count + 1)
        #expect(elements.dropLast().allSatisfy { $0.end - $0.start == 68 })
    }

    @Test("The elements of an array are enumerated up to a limit, and each is still found by its index (R43)")
    func limits() throws {
        let document = try document("[" + String(repeating: "1,", count: 100_000) + "1]")
        #expect(document.elements(of: document.root).count == 100_001)
        #expect(document.elements(of: document.root, atMost: 11).count == 11)
        #expect(document.value(at: JSONPointer("/100000")!)?.end == 200_002)
        #expect(document.value(at: JSONPointer("/100001")!) == nil)
    }

    @Test("Members of an object beyond the enumeration limit are still found by name")
    func manyMembers() throws {
        let document = try document("{" + (0..<20_000).map { "\"n\($0)\":\($0)" }.joined(separator: ",") + "}")
        #expect(document.members(of: document.root).count == JSONDocument.mostMembers)
        #expect(document.member("n19999", of: document.root).flatMap { document.integer($0) } == 19_999)
    }

    @Test("Values are extracted exactly as they were sent (R7)")
    func raw() throws {
        let document = try document(#"{"items" : [ {"n":1.0e400, "ü":"\u00fc"} ,1.50 , "a\"b" ]}"#)
        let elements = document.elements(of: document.value(at: JSONPointer("/items")!)!)
        #expect(
            elements.map { String(decoding: document.raw($0), as: UTF8.self) } == [
                #"{"n":1.0e400, "ü":"\u00fc"}"#, "1.50", #""a\"b""#,
            ])
    }

    @Test("Unescaping a string joins surrogate pairs and replaces lone surrogates")
    func strings() throws {
        func string(_ text: String) throws -> String? { try document(text).string(try document(text).root) }
        #expect(try string(#""a\"\\\/\b\f\n\r\t\u00fc\ud83d\ude00""#) == "a\"\\/\u{8}\u{c}\n\r\tü😀")
        #expect(try string(#""\ud83dx\ude00""#) == "\u{FFFD}x\u{FFFD}")
        #expect(try string(#""\ud83d\u0041""#) == "\u{FFFD}A")
    }

    @Test("An id with a lone surrogate is rejected, because two of them would look equal (R5)")
    func identifiers() throws {
        let document = try document(#"["a", 1.0, "\ud83d\ude00", "\ud800", "x\udc00", true, null, {}, "\u0000"]"#)
        let ids = document.elements(of: document.root).map { document.identifier($0) }
        #expect(ids.map { $0?.text } == ["a", "1.0", "😀", nil, nil, nil, nil, nil, "\0"])
        #expect(ids.map { $0?.type } == [.string, .number, .string, nil, nil, nil, nil, nil, .string])
    }

    @Test("The first of several members with one name counts, escaped or not (RFC 8259, 4)")
    func repeatedNames() throws {
        let document = try document(#"{"\u0061":1,"a":2,"\u00e9":3,"e\u0301":4}"#)
        func number(_ name: String) -> Int? {
            document.member(name, of: document.root).flatMap { document.integer($0) }
        }
        #expect(number("a") == 1)
        // Names are equal when their code units are equal, and not when they only look alike.
        #expect(number("\u{E9}") == 3)
        #expect(number("e\u{301}") == 4)
    }

    @Test(
        "Integers are accepted in any spelling, and other values are nil (R44)",
        arguments: [
            ("30", 30), ("-1", -1), ("30.0", 30), ("3e1", 30), ("\"30\"", 30), ("\" 30 \"", 30), ("1e30", Int.max),
            ("10000000000000000000", Int.max),
            ("1e400", Int.max), ("-1e400", Int.min), ("-0", 0), ("0e400", 0), ("120e-1", 12),
            ("9223372036854775807", Int.max),
            ("-9223372036854775808", Int.min), ("9007199254740993", 9_007_199_254_740_993),
            ("1e18", 1_000_000_000_000_000_000),
            ("1e999999999999999999999", Int.max),
        ] as [(String, Int?)] + [
            ("1.5", nil), ("1e-400", nil), ("0.99999999999999999999", nil), ("125e-1", nil), ("\"1e\"", nil),
            ("\"1 2\"", nil),
            ("\"x\"", nil), ("\"\"", nil), ("null", nil), ("true", nil), ("\"0x1F\"", nil), ("\"inf\"", nil),
        ])
    func numbers(text: String, number: Int?) throws {
        let document = try document(text)
        #expect(document.integer(document.root) == number)
    }

    @Test("JSON pointers resolve the examples of RFC 6901, section 5")
    func pointers() throws {
        let document = try document(
            #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#)
        func number(_ pointer: String) -> Int? {
            JSONPointer(pointer).flatMap { document.value(at: $0) }.flatMap { document.integer($0) }
        }
        #expect(JSONPointer("").flatMap { document.value(at: $0) } == document.root)
        #expect(JSONPointer("/foo/0").flatMap { document.value(at: $0) }.flatMap { document.string($0) } == "bar")
        #expect(
            ["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"].map(number) == [
                0, 1, 2, 3, 4, 5, 6, 7, 8,
            ])
        for pointer in ["/foo/2", "/foo/00", "/foo/-", "/nope", "/foo/0/x"] { #expect(number(pointer) == nil) }
        for text in ["foo", "/~", "/~2"] { #expect(JSONPointer(text) == nil) }
        for text in ["", "/", "/a~1b/m~0n/0", "/\u{301}", "/~0\u{301}/~1\u{301}"] {
            #expect(JSONPointer(text)?.description == text)
        }
        #expect(JSONPointer("/\u{301}")?.tokens == ["\u{301}"])
    }
}

@Suite("Items of a body")
struct JSONItemsTests {
    private func split(_ text: String, _ items: String = "", _ limits: HTTPLimits = HTTPLimits(), id: String? = "/id")
        throws -> PageContent
    {
        try JSONItems.split(
            Array(text.utf8), at: JSONPointer(items)!, id: id.flatMap { JSONPointer($0) }, limits: limits)
    }

    @Test("Items keep their bytes as sent, and have their ids (R7)")
    func items() throws {
        let content = try split(
            #" {"n":2, "list" : [ {"id" : "a", "x":1.0e400} ,{"x":[ ],"id":7}, null,{"id":{}} ] } "#, "/list")
        let texts = (0..<content.count).map { String(decoding: content.payload(at: $0), as: UTF8.self) }
        #expect(texts == [#"{"id" : "a", "x":1.0e400}"#, #"{"x":[ ],"id":7}"#, "null", #"{"id":{}}"#])
        #expect(Array(content.ids) == ["a", "7", nil, nil])
        #expect(content.ids.indices.map { content.ids.type(at: $0) } == [.string, .number, nil, nil])
    }

    @Test("The body itself may be the list, and an item may be its own id")
    func top() throws {
        #expect(try split(#"["b","c"]"#, id: "").ids == ["b", "c"])
        #expect(try split(#"["b","c"]"#, id: nil).ids == [nil, nil])
        #expect(try split("[]").isEmpty)
        #expect(try split(#"{"list":null}"#, "/list").isEmpty)
    }

    @Test(
        "A body that is not JSON, or has no list at the pointer, is undecodable",
        arguments: [
            ("", ""), ("[1,]", ""), ("{}", ""), ("1", ""), ("{}", "/list"), (#"{"list":{}}"#, "/list"),
            ("[\"\u{1}\"]", ""),
        ])
    func undecodable(text: String, items: String) {
        #expect(failure { try split(text, items) } == .undecodable)
    }

    @Test("A body beyond a limit is refused as a whole (R43)")
    func limits() {
        var limits = HTTPLimits()
        (limits.itemsPerPage, limits.item, limits.depth) = (3, 8, 2)
        #expect(throws: Never.self) { try split("[1,2,[45678]]", "", limits) }
        #expect(failure { try split("[1,2,3,4]", "", limits) } == .limitExceeded)
        #expect(failure { try split("[1,[4567890]]", "", limits) } == .limitExceeded)
        #expect(failure { try split("[[[]]]", "", limits) } == .limitExceeded)
    }

    @Test("Large hostile bodies are refused: the shortest items, brackets, NUL bytes, one string (R43)")
    func largeBodies() {
        let size = 32 << 20
        let numbers = Array(("[" + String(repeating: "1,", count: 1 << 20) + "1]").utf8)
        #expect(failure { try JSONItems.split(numbers) } == .limitExceeded)
        let string = Array("[\"".utf8) + Array(repeating: UInt8(ascii: "x"), count: size) + Array("\"]".utf8)
        #expect(failure { try JSONItems.split(string) } == .limitExceeded)
        #expect(failure { try JSONItems.split(Array(repeating: UInt8(ascii: "["), count: size)) } == .limitExceeded)
        #expect(failure { try JSONItems.split(Array(repeating: 0, count: size)) } == .undecodable)
    }

    private func failure(_ body: () throws -> PageContent) -> FetchFailure.Class? {
        do { _ = try body() } catch { return (error as? FetchFailure)?.failureClass }
        return nil
    }
}

#endif
