#if Tool
import Foundation
import PageModel
import StorageSupport
import Testing
@testable import pagecache

@Suite("Rows from the bytes of items")
struct FieldTests {
    private func value(_ pointer: String, in text: String) throws -> String? {
        let pointer = try #require(FieldPointer(pointer))
        return Array(text.utf8).withUnsafeBytes { bytes in
            pointer.value(in: bytes).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func csv(_ payloads: [String], fields: String? = nil) throws -> String {
        let content = PageContent(payloads.map { RawItem(payload: Array($0.utf8)) })
        let folder = Folder()
        let path = "\(folder.path)/rows.csv"
        let sink = try ByteSink(path: path, terminal: .standard)
        var encoder = ItemEncoder(format: .csv, fields: fields.flatMap(FieldPointer.list))
        try encoder.begin(sink)
        try encoder.write(content, to: sink)
        try encoder.end(sink)
        try sink.finish()
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test(
        "RFC 6901 pointers resolve names, positions and escapes, and missing values are nil",
        arguments: [
            ("/a", #"{"a":1}"#, "1"), ("/a/b", #"{"x":{"b":2},"a":{"b":[1,{"c":3}]}}"#, #"[1,{"c":3}]"#),
            ("/a/1/c", #"{"a":[0,{"c":3}]}"#, "3"),
            ("/a~1b", #"{"a/b":"s"}"#, #""s""#), ("/m~0n", #"{"m~n":true}"#, "true"),
            ("/ä", #"{"\u00e4": null }"#, "null"), ("/\u{301}a", "{\"\u{301}a\":5}", "5"),
            ("", "[1]", "[1]"), ("/", #"{"":7}"#, "7"), ("/a", #"{"a":1,"a":2}"#, "1"),
            ("/z", #"{"a":1}"#, nil), ("/a/01", #"{"a":[1,2]}"#, nil), ("/a/9", #"{"a":[1,2]}"#, nil),
            ("/a", "[1]", nil),
        ] as [(String, String, String?)])
    func pointers(pointer: String, text: String, expected: String?) throws {
        #expect(try value(pointer, in: text) == expected)
    }

    @Test("An invalid pointer is rejected", arguments: ["a", "/a~", "/a~2", "/a,b"])
    func noPointers(text: String) { #expect(FieldPointer.list(text) == nil) }

    @Test(
        "Truncated or invalid JSON is not read beyond its end",
        arguments: [
            "", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":\"\\", "{\"a\":[", "{\"a\":{\"b\":1", "[",
            "[1,", "nonsense", "}{", "\"\\u12",
        ])
    func broken(text: String) throws {
        _ = try value("/a/b", in: text)
        _ = try value("/0/1", in: text)
        #expect(try csv([text.isEmpty ? " " : text]).hasSuffix("\n"))
    }

    @Test("Columns are the scalar members of the first page, in order of appearance")
    func union() throws {
        let rows = try csv([
            #"{"id":1,"tags":["x"]}"#, #"{"id":2,"name":"b","deep":{"id":9}}"#, #"{"name":null,"id":3}"#,
        ])
        #expect(rows == "id,name\n1,\n2,b\n3,\n")
    }

    @Test("CSV quotes commas, quotes and line breaks (RFC 4180), undoes JSON escapes, and keeps numbers as received")
    func quoting() throws {
        let rows = try csv([
            #"{"a":"x,y","b":"say \"hi\"","c":"two\nlines","d":1.50e3,"e":"gr\u00f6\u00dfer \ud83d\ude00","f":true}"#
        ])
        #expect(rows == "a,b,c,d,e,f\n\"x,y\",\"say \"\"hi\"\"\",\"two\nlines\",1.50e3,größer 😀,true\n")
    }

    @Test("Named fields are the columns, objects are written as JSON, and missing values are empty")
    func named() throws {
        let rows = try csv([#"{"id":1,"o":{"n":"x"}}"#, #"{"id":2}"#], fields: "/id,/o,/o/n")
        #expect(rows == "/id,/o,/o/n\n1,\"{\"\"n\"\":\"\"x\"\"}\",x\n2,,\n")
    }

    @Test("A single empty value is quoted so that its row is not blank, and items that are not objects form one column")
    func alone() throws {
        #expect(try csv([#"{"a":""}"#, #"{"a":"b"}"#]) == "a\n\"\"\nb\n")
        #expect(try csv(["1", #""x,y""#]) == "payload\n1\n\"\"\"x,y\"\"\"\n")
        #expect(try csv([]) == "payload\n")
    }

    @Test("The pieces of an export are whole pages, each once, and grow to a few megabytes")
    func plan() {
        let pages = (0..<100).map { page in
            PageSummary(
                offset: page * 10, count: page == 50 ? 0 : 10, generation: 1, revision: 0, evidence: .verified,
                evidenceAt: noon,
                fetchedAt: noon, validatedAt: noon, fingerprint: 0, cursorIn: nil, cursorOut: nil, validator: nil)
        }
        var plan = ExportPlan(pages)
        var covered: [Range<Int>] = []
        var sizes: [Int] = []
        while let piece = plan.nextPiece(after: covered.isEmpty ? nil : 1_000) {
            covered.append(piece)
            sizes.append(piece.count)
        }
        #expect(Coverage(covered).count >= 990)
        #expect(zip(covered, covered.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
        #expect(sizes.first == 10 && sizes.max()! >= 320)
        #expect(covered.last?.upperBound == 1_000)
        // Large pages are exported one by one.
        var heavy = ExportPlan(pages)
        _ = heavy.nextPiece(after: nil)
        #expect(heavy.nextPiece(after: 32 << 20)?.count == 10)
    }
}
#endif
