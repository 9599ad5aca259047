#if Tool
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import pagecache

/// `show --fields` prints parts of an item, byte for byte.
@Suite("pagecache show --fields")
struct ShowTests {
    private let folder = Folder()

    private static let payloads = [
        #"{"id":"a","n":1.50e3,"big":12345678901234567890,"o":{"x":"gr\u00f6\u00dfer","y":[1, 2]},"s":"two\nlines"}"#,
        "{ \"n\" : -0.0 ,\n \"id\" : \"b\" , \"o\" : { \"x\" : null ,\n \"y\" : [ ] } }",
        #"{"id":"c\u001b[31m","a/b":"slash","n":7}"#,
    ]

    private func fill() async throws {
        let content = PageContent(
            zip(ShowTests.payloads, ["a", "b", "c"]).map { RawItem(payload: Array($0.0.utf8), id: $0.1) })
        try await folder.write(content, total: .exact(3), and: [.setEnd(3)])
    }

    @Test("show ends with 75 when a requested position is missing, and with 0 when only others are")
    func holes() async throws {
        try await folder.writeListWithGap()
        let whole = try await folder.tool(["show", "list"])
        #expect(whole.status == 75)
        #expect(whole.output.split(separator: "\n").count == 100)
        #expect(whole.errors.contains("incomplete: 50 positions are missing or old, from 100 on"))
        #expect(try await folder.tool(["show", "list", "--limit", "20"]).status == 0)
        #expect(try await folder.tool(["show", "list", "--offset", "90", "--limit", "20"]).status == 75)
        #expect(try await folder.tool(["show", "list", "--json"]).status == 75)
    }

    @Test("At a terminal, show counts the stored items after the shown ones, and the missing positions apart")
    func rest() async throws {
        try await folder.writeListWithGap()
        let tool = try TerminalProgram(
            Tool.path, ["show", "list", "--limit", "20", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"], columns: 80)
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0)
        let words = tool.shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("… 80 more; --limit and --offset show them; 50 positions are missing"), "\(words)")
        let list = Sample.list([Sample.page(0..<100), Sample.page(200..<300)], total: .exact(400))
        #expect(list.rest(from: 50)?.hasPrefix("150 more; --limit and --offset show them; 200 positions") == true)
        #expect(list.rest(from: 300)?.hasPrefix("100 positions are missing") == true)
        #expect(list.rest(from: 400) == nil)
        var old = list
        old.pages[1].generation = 0
        #expect(old.rest(from: 100)?.hasPrefix("300 positions are missing or old;") == true)
        let whole = Sample.list([Sample.page(0..<100)], end: 100)
        #expect(whole.rest(from: 20) == "80 more; --limit and --offset show them")
    }

    @Test("At a terminal, show says that a list has no items, and elsewhere it prints nothing")
    func noItems() async throws {
        try await folder.write(items(0..<0), total: .exact(0), and: [.setEnd(0)])
        let tool = try TerminalProgram(
            Tool.path, ["show", "list", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"], columns: 80)
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0)
        #expect(tool.shown.contains("the list has no items"))
        let piped = try await folder.tool(["show", "list"])
        #expect(piped.status == 0 && piped.output.isEmpty && piped.errors.isEmpty, "\(piped.errors)")
    }

    @Test("An id that is not found ends with 75 while positions are missing, and with 66 in a complete list")
    func missingID() async throws {
        try await folder.writeListWithGap()
        let partial = try await folder.tool(["show", "list", "--id", "nope", "--json"])
        #expect(partial.status == 75)
        #expect(partial.errors.contains("no stored item has the id 'nope', and 50 positions are missing"))
        #expect(partial.errors.contains("pagecache sync \(QueryKey("list").shortID)"))
        try await folder.write(items(0..<10), as: "whole", total: .exact(10), and: [.setEnd(10)])
        let whole = try await folder.tool(["show", "whole", "--id", "nope"])
        #expect(whole.status == 66)
        #expect(whole.errors.contains("no item of the list has the id 'nope'"))
    }

    @Test("show, why and export name the result window of an origin that counts more items than it returns")
    func window() async throws {
        try await folder.write(items(0..<350), total: .exact(500), and: [.setEnd(350), .setResultWindow(350)])
        let text = "the origin counts 500 items and returns only the first 350 items (its result window)"
        let show = try await folder.tool(["show", "list", "--offset", "400"])
        #expect(show.status == 0)
        #expect(show.errors.contains("\(text); there is none at 400"), "\(show.errors)")
        #expect(try await folder.tool(["why", "list", "--offset", "400"]).output.contains("not available: \(text)."))
        #expect(
            try await folder.tool(["why", "list"]).output.contains("All 350 items that the origin returns are held"))
        let export = try await folder.tool(["export", "list"])
        #expect(export.status == 0)
        #expect(export.errors == "pagecache: warning: \(text)\n")
        #expect(export.output.split(separator: "\n").count == 350)
        #expect(try await folder.tool(["show", "list", "--id", "nope"]).status == 66)
    }

    @Test("A field has a name of its own before an equals sign, in objects, columns and tables")
    func named() async throws {
        let ended = try await show(["--fields", "number=/n,/id", "--format", "ndjson", "--limit", "1"])
        #expect(ended.output == #"{"number":1.50e3,"/id":"a"}"# + "\n")
        let csv = try await folder.tool(["show", "list", "--fields", "number=/n,ident=/id", "--format", "csv"])
        #expect(csv.output.hasPrefix("number,ident"))
        #expect(try await folder.tool(["show", "list", "--fields", "=/n"]).status == 64)
        #expect(try await folder.tool(["show", "list", "--fields", "n=n"]).status == 64)
    }

    private func show(_ flags: [String]) async throws -> Program.Ended {
        try await fill()
        return try await Tool.run(["show", "list", "--store", folder.store] + flags)
    }

    @Test(
        "show --fields prints an object per line, with members in the requested order and values byte for byte (R7)",
        arguments: [[], ["--format", "ndjson"]])
    func lines(format: [String]) async throws {
        let ended = try await show(["--fields", "/n,/big,/o/x,/id"] + format)
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(
            ended.output.split(separator: "\n") == [
                #"{"/n":1.50e3,"/big":12345678901234567890,"/o/x":"gr\u00f6\u00dfer","/id":"a"}"#,
                #"{"/n":-0.0,"/big":null,"/o/x":null,"/id":"b"}"#,
                #"{"/n":7,"/big":null,"/o/x":null,"/id":"c\u001b[31m"}"#,
            ])
    }

    @Test(
        "A field may be an object, an array, an element, a name with a slash or the whole item, and stays on one line")
    func deep() async throws {
        let ended = try await show(["--fields", "/o,/o/y/1,/a~1b", "--format", "ndjson"])
        #expect(
            ended.output.split(separator: "\n") == [
                #"{"/o":{"x":"gr\u00f6\u00dfer","y":[1, 2]},"/o/y/1":2,"/a~1b":null}"#,
                #"{"/o":{ "x" : null ,  "y" : [ ] },"/o/y/1":null,"/a~1b":null}"#,
                #"{"/o":null,"/o/y/1":null,"/a~1b":"slash"}"#,
            ])
        let whole = try await Tool.run(["show", "list", "--store", folder.store, "--fields", "item=", "--limit", "1"])
        #expect(whole.output == #"{"item":"# + ShowTests.payloads[0] + "}\n")
    }

    @Test("--json prints one array, and CSV has the fields as columns with escapes undone")
    func otherFormats() async throws {
        let json = try await show(["--fields", "/id,/n", "--json"])
        #expect(json.jsonArray.compactMap { $0["/id"] as? String } == ["a", "b", "c\u{1b}[31m"])
        #expect(json.output.contains(#""/n":1.50e3"#))
        let csv = try await Tool.run([
            "show", "list", "--store", folder.store, "--fields", "/n,/o/x,/s", "--format", "csv",
        ])
        #expect(csv.output == "/n,/o/x,/s\n1.50e3,größer,\"two\nlines\"\n-0.0,,\n7,,\n")
    }

    @Test("The table has fields as columns, right-aligned numbers, and no control characters")
    func table() async throws {
        let ended = try await show(["--fields", "/id,/n,/o/x", "--format", "table"])
        #expect(
            ended.output.split(separator: "\n") == [
                "OFFSET  /id              /n  /o/x", "     0  a            1.50e3  größer",
                "     1  b              -0.0  –", "     2  c\\u{1b}[31m       7  –",
            ])
        let one = try await Tool.run([
            "show", "list", "--store", folder.store, "--fields", "/n", "--id", "b", "--offset", "0",
        ])
        #expect(one.output == #"{"/n":-0.0}"# + "\n")
    }

    @Test("--id 0 finds the number and the string and reports both, and quotes select the string")
    func typedIDs() async throws {
        let items = [
            RawItem(payload: Array(#"{"id":0}"#.utf8), id: "0", idType: .number),
            RawItem(payload: Array(#"{"id":"0"}"#.utf8), id: "0"),
            RawItem(payload: Array(#"{"id":7}"#.utf8), id: "7", idType: .number),
        ]
        try await folder.write(PageContent(items), total: .exact(3), and: [.setEnd(3)])
        func shown(_ id: String) async throws -> Program.Ended {
            try await Tool.run(["show", "list", "--store", folder.store, "--id", id])
        }
        let both = try await shown("0")
        #expect(both.status == 0)
        #expect(both.output == #"{"id":0}"# + "\n" + #"{"id":"0"}"# + "\n")
        #expect(both.errors.contains("two items have the id 0"))
        let string = try await shown(#""0""#)
        #expect(string.output == #"{"id":"0"}"# + "\n")
        #expect(string.errors == "")
        #expect(try await shown("7").output == #"{"id":7}"# + "\n")
        #expect(try await shown(#""7""#).status == 66)
    }

    @Test("At a terminal the default is a table that fits any width", arguments: [20, 80])
    func atTerminal(columns: Int) async throws {
        try await fill()
        let tool = try TerminalProgram(
            Tool.path, ["show", "list", "--fields", "/id,/n,/o/x", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"], columns: columns)
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0)
        let lines = tool.shown.replacing(/\u{1b}\[1m|\u{1b}\[0m/, with: "").split(whereSeparator: \.isNewline).map(
            String.init)
        #expect(lines.allSatisfy { $0.count <= columns && !$0.contains("\u{1b}") }, "\(lines)")
        if columns == 20 {
            #expect(lines.prefix(4) == ["OFFSET 0", "/id a", "/n 1.50e3", "/o/x größer"])
        } else {
            #expect(lines.first == "OFFSET  /id              /n  /o/x")
        }
    }

    @Test("An invalid pointer is a usage error", arguments: ["id", "/a~", "/a,b", "/id,", ""])
    func usage(fields: String) async throws {
        let ended = try await Tool.run(["show", "list", "--fields", fields, "--store", folder.store])
        #expect(ended.status == 64)
    }

    @Test("Items that are not JSON have no fields", arguments: ["nonsense", "{\"n\":", "", "[1,2]"])
    func noJSON(text: String) throws {
        var table = FieldTable([try #require(FieldPointer("/n"))], width: 80)
        let content = PageContent([RawItem(payload: Array(text.utf8))])
        let part = ListWindow.Part(offset: 5, content: content, isHeld: true, validatedAt: noon)
        let record = QueryRecord(
            id: QueryID(rawValue: 1), key: QueryKey("list"), version: ListVersion(generation: 1, revision: 0),
            total: .unknown, end: nil,
            validatedAt: nil, createdAt: noon, allowsDuplicates: false, paging: "", source: "")
        let window = ListWindow(record: record, range: 5..<6, parts: [part], damaged: [], readAt: Sample.now)
        #expect(table.lines(window) == ["OFFSET  /n", "     5  –"])
        // The header is printed once.
        #expect(table.lines(window) == ["     5  –"])
    }
}
#endif
