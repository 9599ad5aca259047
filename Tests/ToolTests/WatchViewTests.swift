#if Tool
import PageModel
import Testing
@testable import pagecache

/// The view of `watch` on a store with more queries than lines.
@Suite("The view of many queries")
struct WatchViewTests {
    /// Lists with their numbers as keys. Those with the numbers in `failing` have a failing page.
    private func lists(_ count: Int, failing: Set<Int> = []) -> [ListOutline] {
        (0..<count).map { number in
            var list = Sample.list(
                [Sample.page(0..<100)], total: .exact(200),
                ledger: failing.contains(number) ? [Sample.failing(100)] : [],
                key: QueryKey("https://example.com/list-\(number)"))
            list.record.id = QueryID(rawValue: Int64(number + 1))
            return list
        }
    }

    private func numbers(_ lines: [String]) -> [Int] {
        lines.compactMap { $0.firstMatch(of: /list-(\d+)/).flatMap { Int($0.1) } }
    }

    private func isMap(_ line: String) -> Bool { line.contains("█") && line.contains("·") && !line.contains("list-") }

    @Test(
        "At 80×24, as many queries have a coverage map as the height allows, and the selected one is among them",
        arguments: [(8, 7), (12, 3), (1_000, 1)])
    func map(count: Int, maps expected: Int) {
        let lists = lists(count)
        var view = WatchView()
        view.takesKeys = true
        for step in [0, 3, count] {
            view.select(by: step, lists)
            let lines = view.lines(lists, columns: 80, rows: 24, now: Sample.now)
            #expect(lines.count == 24)
            let maps = lines.indices.filter { isMap(lines[$0]) }
            #expect(maps.count == expected, "\(lines)")
            let current = view.current(lists).map { "https://example.com/list-\($0.record.id.rawValue - 1)" } ?? ""
            #expect(maps.contains { lines[$0 - 1].hasSuffix(current) }, "\(lines)")
        }
        // Five queries have a map each.
        let few = WatchView().lines(Array(lists.prefix(5)), columns: 80, rows: 24, now: Sample.now)
        #expect(few.count(where: isMap) == 5, "\(few)")
    }

    @Test("The sentence about the selected query names the first failing position, as sync and why do")
    func firstFailure() {
        // The page at 300 is retried before the others.
        let entries = [200, 300, 400].map { Sample.failing($0, next: .seconds($0 == 300 ? 1 : 60)) }
        let list = Sample.list([Sample.page(0..<200)], total: .exact(500), ledger: entries)
        var view = WatchView()
        view.takesKeys = true
        let lines = view.lines([list], columns: 80, rows: 24, now: Sample.now)
        let id = list.record.key.shortID
        #expect(lines.contains("\(id): 3 pages fail, the first at 200: the origin answered 500"), "\(lines)")
    }

    @Test("Events of a removed query keep their ids while one query is left")
    func removed() {
        let sample = failing()
        let id = sample.lists[0].record.key.shortID
        func lines(_ lists: [ListOutline]) -> [String] {
            sample.view.lines(lists, columns: 80, rows: 24, now: Sample.now).filter { $0.hasPrefix("08:00:00") }
        }
        #expect(lines([sample.lists[0]]).allSatisfy { !$0.contains(id) })
        #expect(!lines([sample.lists[1]]).isEmpty)
        #expect(lines([sample.lists[1]]).allSatisfy { $0.contains(id) })
    }

    /// A view of two lists, the first with four failing pages. The latest event is a failure at 1,009.
    private func failing() -> (view: WatchView, lists: [ListOutline]) {
        var lists = lists(2)
        lists[0].ledger = [121, 145, 169, 1_009].map { offset in
            var entry = Sample.failing(offset)
            entry.failure = .status(503)
            return entry
        }
        var view = WatchView()
        view.takesKeys = true
        for event in ListHistory.events(from: self.lists(2)[0], to: lists[0]) {
            view.note(ListEventRendering(event: event, key: lists[0].record.key, at: Sample.now))
        }
        return (view, lists)
    }

    @Test(
        "A screen of any size keeps the reason of a failed key, and a cut line ends with an ellipsis",
        arguments: [
            (79, 24, "retry failed: database is locked (another process may be writing; try again) · 2kt6gxhe"),
            (39, 16, "retry failed: database is locked (another process may be writing; try again) · 2kt6gxhe"),
            (19, 10, "retry failed: database is locked (another…"), (19, 5, "retry failed: data…"),
        ])
    func message(columns: Int, rows: Int, shown: String) {
        let sample = failing()
        var view = sample.view
        view.message = "retry failed: database is locked (another process may be writing; try again) · 2kt6gxhe"
        let lines = view.lines(sample.lists, columns: columns, rows: rows, now: Sample.now)
        #expect(lines.count == rows)
        #expect(lines.allSatisfy { TextWidth.columns($0) <= columns }, "\(lines)")
        let start = lines.firstIndex { $0.hasPrefix("retry failed:") } ?? lines.endIndex
        #expect(lines[start...].joined(separator: " ").replacing(/\s+/, with: " ") == shown, "\(lines)")
    }

    @Test(
        "A small screen keeps the status of the failing pages and of the latest event",
        arguments: [(39, 16), (19, 10), (19, 9), (19, 8)])
    func status(columns: Int, rows: Int) {
        let (view, lists) = failing()
        let lines = view.lines(lists, columns: columns, rows: rows, now: Sample.now)
        let text = lines.joined(separator: " ").replacing(/\s+/, with: " ")
        #expect(lines.allSatisfy { TextWidth.columns($0) <= columns }, "\(lines)")
        #expect(text.contains("4 pages fail"), "\(lines)")
        let event = columns == 19 ? "1,009 failed: 503" : "failed at 1,009, attempt 2: the origin answered 503"
        #expect(text.contains(event), "\(lines)")
        #expect(text.matches(of: /503/).count == 2, "\(lines)")
        // The event names its query, because there are two.
        #expect(columns > 19 || text.contains("\(lists[0].record.key.shortID) \(event)"), "\(lines)")
    }

    @Test("The selected query is on screens of any height, also with a message", arguments: [19, 79], 3...12)
    func selectedStays(columns: Int, rows: Int) {
        let sample = failing()
        let lists = sample.lists
        var view = sample.view
        for message in [nil, "retry failed: database is locked (another process may be writing; try again)"] {
            view.message = message
            for step in [-1, 1] {
                view.select(by: step, lists)
                let lines = view.lines(lists, columns: columns, rows: rows, now: Sample.now)
                #expect(lines.count <= rows, "\(lines)")
                #expect(numbers(lines).contains(step < 0 ? 0 : 1), "\(lines)")
                #expect(step > 0 || lines.joined().contains("4 failing pages"), "\(lines)")
            }
        }
    }

    @Test("The line of a query keeps its share and its freshness before the length of the list", arguments: [39, 79])
    func brief(columns: Int) {
        let list = Sample.list(
            [Sample.page(0..<100)], total: .exact(3_000), validated: .seconds(900),
            ledger: (1..<84).map { Sample.failing($0 * 25) },
            key: "http://127.0.0.1:36695/v2/regions/europe/customers?sort=name")
        let line = WatchView().lines([list], columns: columns, rows: 24, now: Sample.now)[1]
        let id = list.record.key.shortID
        let start = "\(id) · 3 % · 83 failing pages"
        #expect(columns == 79 ? line.hasPrefix("\(start) · stale (15 min) · http") : line == start, "\(line)")
        #expect(columns == 39 || line.hasSuffix("/customers?sort=name"), "\(line)")
    }

    @Test("A filter leaves no event of another query, so that no event is there without its query")
    func filtered() {
        var (view, lists) = failing()
        for (filter, isThere) in [("", true), ("list-0", true), ("list-1", false), ("zebra", false)] {
            view.filter = filter
            let lines = view.lines(lists, columns: 19, rows: 10, now: Sample.now)
            #expect(lines.contains { $0.contains("1,009") } == isThere, "\(lines)")
        }
        view.filter = "zebra"
        let lines = view.lines(lists, columns: 79, rows: 24, now: Sample.now)
        #expect(lines.contains("no query matches 'zebra'") && !lines.contains { $0.contains("failed") }, "\(lines)")
        lists = []
        view.filter = ""
        let empty = view.lines(lists, columns: 79, rows: 24, now: Sample.now)
        #expect(empty.contains("the store has no query yet") && empty.contains { $0.contains("failed") }, "\(empty)")
        view.isNamed = true
        let removed = view.lines(lists, columns: 79, rows: 24, now: Sample.now)
        #expect(removed.contains("the query was removed"), "\(removed)")
    }

    @Test("The first of several texts that fits is shown, else the last one with an ellipsis")
    func fitted() {
        func lines(_ rows: Int, _ texts: String...) -> [String] { WatchView.fitted(texts, columns: 10, rows: rows) }
        #expect(lines(1, "a longer text", "a text") == ["a text"])
        #expect(lines(2, "a longer text", "a text") == ["a longer", "  text"])
        #expect(lines(1, "a longer text", "another text") == ["another t…"])
        #expect(lines(2, "some words that need four lines") == ["some words", "  that…"])
        #expect(lines(2, "some words reaching the end of it") == ["some words", "  reachin…"])
        #expect(lines(0, "a").isEmpty && lines(1).isEmpty)
    }

    @Test("Queries with failing pages come first, and the word 'failing' finds them")
    func failingFirst() {
        let lists = lists(1_000, failing: [123, 998])
        var view = WatchView()
        let lines = view.lines(lists, columns: 80, rows: 24, now: Sample.now)
        #expect(numbers(lines).prefix(4) == [123, 998, 0, 1])
        #expect(view.current(lists)?.record.id == QueryID(rawValue: 124))
        view.filter = "Failing"
        #expect(numbers(view.lines(lists, columns: 80, rows: 24, now: Sample.now)) == [123, 998])
        view.filter = "list-99"
        let found: [Int64] = [999, 100] + Array(991...998) + [1_000]
        #expect(view.shown(lists).map(\.record.id.rawValue) == found)
    }

    @Test("The view counts the queries above and below the shown ones")
    func others() {
        let lists = lists(1_000)
        var view = WatchView()
        func text() -> (shown: [Int], others: String) {
            let lines = view.lines(lists, columns: 80, rows: 24, now: Sample.now)
            return (numbers(lines), lines.first { $0.hasPrefix("… ") } ?? "")
        }
        let top = text()
        #expect(top.shown.first == 0)
        #expect(top.others == "… \(1_000 - top.shown.count) more below")
        view.select(by: 500, lists)
        let middle = text()
        let (first, last) = (middle.shown.first ?? 0, middle.shown.last ?? 0)
        #expect(middle.shown.contains(500))
        #expect(middle.others == "… \(first) more above, \(999 - last) more below")
        view.select(by: 1_000, lists)
        #expect(text().others == "… \(1_000 - text().shown.count) more above")
    }

    @Test("A page has as many queries as the screen shows", arguments: [(80, 24), (40, 30), (200, 60), (20, 5)])
    func pages(columns: Int, rows: Int) {
        let lists = lists(1_000)
        var view = WatchView()
        view.takesKeys = true
        view.screen = (columns, rows)
        let shown = view.lines(lists, columns: columns, rows: rows, now: Sample.now).count { $0.contains("list-") }
        #expect(view.pageLength(lists) == shown)
        for _ in 0..<3 { view.select(by: view.pageLength(lists), lists) }
        #expect(view.current(lists)?.record.id.rawValue == Int64(3 * shown + 1))
    }
}
#endif
