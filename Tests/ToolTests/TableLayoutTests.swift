#if Tool
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

/// Tables in any width: cut texts stay distinguishable, and omitted columns are named.
@Suite("The layout of tables")
struct TableLayoutTests {
    private let columns: [TableLayout.Column] = [
        .init(heading: "ID", isWhole: true), .init(heading: "QUERY"), .init(heading: "ITEMS", isNumber: true),
        .init(heading: "NEXT"),
        .init(heading: "SIZE", isNumber: true),
    ]
    private let rows = [
        ["4s61jq7d", "https://api.example.com/items", "12,345", "–", "1.2 MB"],
        ["787vw1bw", "short", "3", "–", "91 B"],
    ]

    private func lines(_ width: Int) -> [String] {
        let layout = TableLayout(columns, rows: rows, width: width)
        return (layout.heading().map { [$0] } ?? []) + rows.flatMap { layout.lines(of: $0) }
    }

    @Test("URLs are cut inside so that their ends stay visible, and the least important columns are omitted first")
    func telling() {
        let columns: [TableLayout.Column] = [
            .init(heading: "QUERY", least: 16, isCutInside: true),
            .init(heading: "SEGMENTS", isNumber: true, rank: 2),
            .init(heading: "AGE", isWhole: true), .init(heading: "FAILING", isNumber: true),
        ]
        let rows = ["labels", "tasks?done=1"].map { ["https://api.example.com/v1/\($0)", "1", "stale (5 min)", "0"] }
        let layout = TableLayout(columns, rows: rows, width: 40)
        #expect(layout.leftOut == ["SEGMENTS"])
        #expect(layout.lines(of: rows[0]) == ["https…/v1/labels  stale (5 min)        0"])
        #expect(layout.lines(of: rows[1]) == ["ht…/tasks?done=1  stale (5 min)        0"])
        #expect(TextWidth.cutInside("日本語のとても長い名前", to: 9) == "日…い名前")
    }

    @Test("A wide table shows everything, with right-aligned numbers")
    func roomy() {
        #expect(
            lines(.max) == [
                "ID        QUERY                           ITEMS  NEXT    SIZE",
                "4s61jq7d  https://api.example.com/items  12,345  –     1.2 MB",
                "787vw1bw  short                               3  –       91 B",
            ])
    }

    @Test("Texts are cut first, and ids and numbers never")
    func cut() {
        #expect(
            lines(44) == [
                "ID        QUERY          ITEMS  NEXT    SIZE", "4s61jq7d  https://api…  12,345  –     1.2 MB",
                "787vw1bw  short              3  –       91 B",
            ])
    }

    @Test("Empty columns are omitted first and then those on the right, down to three columns")
    func leftOut() {
        #expect(lines(36).first == "ID        QUERY        ITEMS    SIZE")
        #expect(TableLayout(columns, rows: rows, width: 36).leftOut == ["NEXT"])
        #expect(TableLayout(columns, rows: rows, width: 26).leftOut == ["NEXT", "SIZE"])
        #expect(lines(26)[1] == "4s61jq7d  https:/…  12,345")
    }

    @Test("Where three columns do not fit, each row becomes a block of lines without empty values")
    func stacked() {
        #expect(
            lines(20) == [
                "ID 4s61jq7d", "QUERY", "  https://", "  api.example.com/", "  items", "ITEMS 12,345", "SIZE 1.2 MB",
                "ID 787vw1bw", "QUERY short",
                "ITEMS 3", "SIZE 91 B",
            ])
        #expect(TableLayout(columns, rows: rows, width: 20).leftOut.isEmpty)
    }

    @Test("A table fits any width and keeps every digit", arguments: 12...70)
    func everyWidth(width: Int) {
        let lines = lines(width)
        #expect(lines.allSatisfy { $0.count <= width })
        #expect(lines.contains { $0.contains("12,345") })
        #expect(lines.contains { $0.contains("4s61jq7d") })
    }

    @Test("Wide characters count as two columns, so that the table stays aligned and no character is cut in two")
    func wide() {
        let rows = [["1", "寿司と天ぷら", "12"], ["2", "👨‍👩‍👧 e\u{301}te\u{301}", "3"], ["3", "plain", "456"]]
        let columns: [TableLayout.Column] = [
            .init(heading: "ID", isWhole: true), .init(heading: "名前"), .init(heading: "N", isNumber: true),
        ]
        func lines(_ width: Int) -> [String] {
            let layout = TableLayout(columns, rows: rows, width: width)
            return (layout.heading().map { [$0] } ?? []) + rows.flatMap { layout.lines(of: $0) }
        }
        #expect(
            lines(.max) == [
                "ID  名前            N", "1   寿司と天ぷら   12", "2   👨‍👩‍👧 e\u{301}te\u{301}          3", "3   plain         456",
            ])
        // Five columns are left for a text that begins with wide characters: two characters and the ellipsis.
        #expect(lines(16) == ["ID  名前       N", "1   寿司と…   12", "2   👨‍👩‍👧 e\u{301}te\u{301}     3", "3   plain    456"])
        for width in 1...30 {
            let lines = lines(width)
            #expect(width < 3 || lines.allSatisfy { TextWidth.columns($0) <= width }, "\(lines)")
        }
    }

    @Test(
        "Lines break at spaces where possible, not between a number and its unit, and anywhere otherwise",
        arguments: [
            ("short", ["short"]), ("QUERY one two three", ["QUERY one", "  two", "  three"]),
            ("abcdefghijklmnop", ["abcdefghij", "  klmnop"]), ("", [""]),
            ("QUERY abcd efgh", ["QUERY abcd", "  efgh"]), ("寿司と天ぷら と 寿司", ["寿司と天ぷ", "  ら と", "  寿司"]),
            ("名前 寿司 と 天", ["名前 寿司", "  と 天"]), ("a  bcdefgh  i", ["a  bcdefgh", "  i"]),
            ("http://h/orders", ["http://h/", "  orders"]), ("12:34:56.789Z", ["12:34:", "  56.789Z"]),
            ("one 12 items", ["one", "  12 items"]), ("at (3 pages", ["at", "  (3 pages"]),
            ("took 1.2 s now", ["took 1.2 s", "  now"]), ("costs 1.2 s", ["costs", "  1.2 s"]),
            // No line has room for both, or the number begins the line.
            ("one 12 attempts", ["one 12", "  attempts"]), ("123 attempts", ["123", "  attempts"]),
            // Not a unit.
            ("part 3, then", ["part 3,", "  then"]),
        ] as [(String, [String])])
    func wrapped(text: String, lines: [String]) { #expect(TableLayout.wrapped(text, width: 10) == lines) }

    @Test(
        "A URL breaks between its segments only, and anywhere in a segment that is longer than a line",
        arguments: [
            (
                "kv6jpqsw  https://api.example.com/v2/shipping-regions_eu/customers?sort=name&open=1  (offset)",
                [
                    "kv6jpqsw", "  https://", "  api.example.com/", "  v2/", "  shipping-regions_",
                    "  eu/customers?sort=", "  name&open=1", "  (offset)",
                ]
            ),
            (
                "http://127.0.0.1:12345/items?limit=100  (offset)",
                ["http://", "  127.0.0.1:12345/", "  items?limit=100", "  (offset)"]
            ),
            ("see 'https://h/v1/line_items-2026' now", ["see", "  'https://h/v1/", "  line_items-2026'", "  now"]),
            ("https://h/v1/averylongsegmentofapath", ["https://h/v1/", "  averylongsegmentof", "  apath"]),
            // Not a URL.
            ("2026-01-31T12:00:00.000Z", ["2026-01-31T12:00:", "  00.000Z"]),
        ] as [(String, [String])])
    func urls(text: String, lines: [String]) { #expect(TableLayout.wrapped(text, width: 20) == lines) }

    @Test("The table of list matches its snapshots at 20, 40 and 80 columns", arguments: [20, 40, 80])
    func list(width: Int) throws {
        var failing = Sample.list(
            [Sample.page(0..<100), Sample.page(100..<200, age: .seconds(90))], total: .exact(12_345),
            ledger: [Sample.failing(200)],
            key: "https://api.example.com/customers?sort=name")
        failing.record.isPinned = true
        let never = Sample.list([], validated: nil, key: QueryKey("items", scope: "tenant-7"))
        let table = List.table(
            [QuerySummary(outline: failing, bytes: 123_456), QuerySummary(outline: never, bytes: 0)], now: Sample.now)
        let (lines, leftOut) = table.lines(width: width)
        #expect(lines.allSatisfy { $0.count <= width })
        let text =
            (lines + (leftOut.isEmpty ? [] : ["", "left out: \(leftOut.joined(separator: ", "))"])).joined(
                separator: "\n") + "\n"
        try SnapshotTests.compare(text, with: "Tests/ToolTests/Snapshots/list-\(width)-columns.txt")
    }

    @Test("Narrow tables keep the news: failures and freshness in list, status and error in pages and errors")
    func news() throws {
        var entry = Sample.failing(100)
        entry.failure = FetchFailure.status(500)
        let list = Sample.list([Sample.page(0..<100)], total: .exact(300), ledger: [entry])
        let shown = List.table([QuerySummary(outline: list, bytes: 1)], now: Sample.now).lines(width: 40)
        for heading in ["HELD", "FRESHNESS", "FAILING", "NEXT"] {
            #expect(shown.lines[0].contains(heading), "\(shown.lines)")
        }
        #expect(shown.lines[1] == "\(list.record.key.shortID)  http://h/items")
        #expect(shown.lines[2].hasPrefix("33 %") && shown.lines[2].contains("  1 page  in 30 s"), "\(shown.lines)")
        #expect(shown.leftOut.contains("SEGMENTS") && shown.leftOut.contains("ITEMS"))
        let errors = Errors.grouped([(list.record.key, entry)], now: Sample.now).lines(width: 40)
        #expect(errors.lines[0].contains("HTTP") && errors.lines[0].contains("LAST ERROR"), "\(errors.lines)")
        // Without failures, their columns are omitted first.
        let fine = Sample.list([Sample.page(0..<100)], total: .exact(100))
        let calm = List.table([QuerySummary(outline: fine, bytes: 1)], now: Sample.now).lines(width: 60)
        #expect(calm.lines[0].hasPrefix("ID"))
        #expect(calm.leftOut.contains("FAILING") && !calm.leftOut.contains("HELD"), "\(calm.leftOut)")
    }

    @Test(
        "list names each query by its id and its last path segment, with the held share, at every width",
        arguments: 12...120)
    func names(width: Int) {
        let list = Sample.list(
            [Sample.page(0..<905)], total: .exact(1_000), ledger: [Sample.failing(905)],
            key: QueryKey("https://api.example.com/v2/regions/customers?sort=name", scope: "tenant-7"))
        for lists in [[list], [list, Sample.list([], key: QueryKey(list.record.key.text, scope: "b"))]] {
            let table = List.table(lists.map { QuerySummary(outline: $0, bytes: 1) }, now: Sample.now)
            let lines = table.lines(width: width).lines
            #expect(lines.allSatisfy { TextWidth.columns($0) <= width }, "\(lines)")
            let shown = lines.joined(separator: "\n").replacing(/\n +/, with: "")
            for text in [list.record.key.shortID, "customers?sort=name", "90 %"] {
                #expect(shown.contains(text), "\(lines)")
            }
            #expect(lists.count == 1 || shown.contains("tenant-7"), "\(lines)")
        }
    }

    @Test("list and stats show the scope where queries of several scopes have one key")
    func twins() {
        let lists = ["a", "b"].map { Sample.list([Sample.page(0..<10)], end: 10, key: QueryKey("k", scope: $0)) }
        func heading(_ lists: [ListOutline]) -> String {
            List.table(lists.map { QuerySummary(outline: $0, bytes: 1) }, now: Sample.now).lines(width: 120).lines[0]
        }
        #expect(heading(lists).contains("SCOPE"))
        #expect(!heading([lists[0]]).contains("SCOPE"))
    }

    @Test(
        "At a terminal of 20 columns rows become blocks, and at 40 columns the omitted columns are named",
        arguments: [20, 40])
    func atTerminal(columns: Int) async throws {
        try await folder.writeListWithGap()
        let tool = try TerminalProgram(
            Tool.path, ["list", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"], columns: columns)
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0)
        let lines = tool.shown.replacing(/\u{1b}\[\d+m/, with: "").split(whereSeparator: \.isNewline).map(String.init)
        #expect(lines.allSatisfy { $0.count <= columns }, "\(lines)")
        let id = QueryKey("list").shortID
        if columns == 20 {
            #expect(lines.contains("ID \(id)"))
            #expect(lines.contains("ITEMS 100"))
            #expect(lines.contains("TOTAL 150"))
        } else {
            #expect(lines.contains { $0.hasPrefix("\(id)  list") && $0.contains("stale") })
            // The note about the omitted columns is whole, and continues on the next line.
            let note = lines.drop { !$0.hasPrefix("… ") }
            #expect(note.count > 1)
            let words = note.joined(separator: " ").split(separator: " ").joined(separator: " ")
            #expect(words.contains("PAGING: on a wider terminal"))
        }
    }

    private let folder = Folder()

}
#endif
