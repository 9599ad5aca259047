import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Testing

/// A list in memory, with runs against a source.
private struct Bench {
    let storage = MemoryStorage(clock: ManualClock())
    var clock: ManualClock { storage.manualClock }
    let key = QueryKey("songs")

    @discardableResult
    func sync(_ source: any PageSource, _ change: (inout SyncOptions) -> Void = { _ in }) async throws -> SyncReport {
        var options = SyncOptions()
        // A closure that receives offset and size gets no overlapping requests (R21).
        options.overlap = 0
        change(&options)
        clock.advance(by: .seconds(1))
        return try await ListSync(
            storage: storage, source: source, key: key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

    /// The held items, decoded. `nil` marks a gap.
    func held<Value>(_ codec: some ItemCodec<Value>) async throws -> [Value?] {
        let record = try #require(try await storage.query(key))
        let window = try #require(try await storage.window(of: record.id, 0..<1_000))
        var held = [Value?](repeating: nil, count: window.parts.filter(\.isHeld).map(\.range.upperBound).max() ?? 0)
        for part in window.parts where part.isHeld {
            for index in 0..<part.content.count {
                held[part.offset + index] = try codec.decode(part.content.payload(at: index))
            }
        }
        return held
    }

    var songs: [Song?] { get async throws { try await held(JSONItemCodec<Song>()) } }
}

@Suite("Sources of typed items read into a list")
struct ItemSourceListTests {
    @Test("48 items in pages of 10 arrive in order, with a partial last page (C4, C5)", arguments: Style.allCases)
    func fortyEight(style: Style) async throws {
        let bench = Bench(), box = Jukebox(48)
        let report = try await bench.sync(try style.source(box)) { $0.concurrency = 1 }
        #expect(report.outcome == .complete)
        #expect(report.list?.record.total == .exact(48))
        #expect(report.list?.record.end == 48)
        #expect(try await bench.songs == box.songs)
        // An `afterLast` closure receives no position. After page one, only an empty page shows that the total is
        // reached.
        #expect(box.places == [0, 10, 20, 30, 40] + (style == .afterLast ? [48] : []))
        #expect(report.usage.requests == box.places.count)

        let next = try await bench.sync(try style.source(box))
        #expect(next.reconciliation == .unchanged)
        #expect(next.usage.requests == 1)
    }

    @Test(
        "A later process with its own source resumes where the first one stopped (R31)", arguments: Style.allCases
    )
    func goesOn(style: Style) async throws {
        let bench = Bench(), box = Jukebox(48, counts: style != .afterLast)
        #expect(
            try await bench.sync(try style.source(box)) { ($0.maxPages, $0.concurrency) = (2, 1) }.outcome == .limited)
        #expect(box.places == [0, 10])
        let report = try await bench.sync(try style.source(box)) { $0.concurrency = 1 }
        #expect(report.outcome == .complete)
        // A walk over several pages without a total is confirmed by page one.
        let confirmation = style == .afterLast ? [0] : []
        #expect(box.places == [0, 10] + [0, 20, 30, 40] + confirmation, "page one and the missing pages")
        #expect(try await bench.songs == box.songs)
    }

    @Test(
        "A last page of any size is the end, and at most two positions after it are requested (C17, C18, C19)",
        arguments:
            Style.allCases, [0, 1, 9, 10, 11, 19, 20, 21])
    func lastPages(style: Style, count: Int) async throws {
        for counts in [true, false] {
            let bench = Bench(), box = Jukebox(count, counts: counts)
            let report = try await bench.sync(try style.source(box)) { $0.concurrency = 1 }
            #expect(report.outcome == .complete, "\(style) \(count) \(counts)")
            #expect(report.list?.record.end == count)
            #expect(try await bench.songs == box.songs)
            let pages = max(1, (count + 9) / 10)
            // Without a total, the page after a short page is requested, too (R53).
            #expect(Set(box.places.filter { $0 >= max(count, 1) }).count <= (counts ? 1 : 2))
            // Without a total, the engine does not trust a single answer. The engine fetches page one and the end once
            // more.
            #expect(box.places.count <= pages + (counts ? 1 : 3), "\(style) \(count) \(counts): \(box.places)")
            // A walk over several pages without a total is confirmed by page one.
            let confirmations = counts || pages < 3 ? 0 : 1
            if style == .cursors || style == .links { #expect(box.places.count == pages + confirmations) }
        }
    }

    @Test("A stored cursor of another type is refused, and the list is walked again from page one (R22)")
    func otherCursors() async throws {
        let bench = Bench(), box = Jukebox(48)
        try await bench.sync(try Style.cursors.source(box)) { $0.maxPages = 2 }
        let numbered = ItemSource.cursors { (after: Int?, _) in
            let (page, next) = try box.songs(at: after ?? 0, 10)
            return CursorPage(items: page.items, next: next, total: page.total)
        }
        let report = try await bench.sync(numbered)
        #expect(report.outcome == .complete)
        #expect(report.warnings.contains { $0.contains("cursor") })
        #expect(try await bench.songs == box.songs)
        #expect(report.usage.requests == box.places.count - 2, "a refused cursor causes no request")
    }

    @Test("A last item stored by another codec is refused and not misread (R7, R22)")
    func otherCodec() async throws {
        let bench = Bench(), box = Jukebox(48)
        try await bench.sync(try Style.afterLast.source(box)) { $0.maxPages = 2 }
        let source = ItemSource.afterLast(pageSize: 10, codec: JSONItemCodec<Song>(version: 2)) { last, size in
            try box.songs(at: last.flatMap { box.songs.firstIndex(of: $0) }.map { $0 + 1 } ?? 0, size).page
        }
        let report = try await bench.sync(source)
        #expect(report.outcome == .complete)
        #expect(try await bench.songs == box.songs)
        #expect(report.list?.record.source == #"{"codec":"json/2"}"#)
    }

    @Test(
        "With page numbers, an origin that clamps or ignores the page size is read by its own page size",
        arguments: [1, 7, 20, 48, 60], [true, false])
    func clampedPages(most: Int, counts: Bool) async throws {
        let bench = Bench(), box = Jukebox(48, counts: counts)
        let source = ItemSource.pages(size: 30) { number, _ in try box.songs(at: (number - 1) * most, most).page }
        let report = try await bench.sync(source)
        #expect(report.outcome == .complete)
        #expect(try await bench.songs == box.songs)
    }

    @Test("With offsets, short and oversized pages count with their received items (X7)", arguments: [3, 25])
    func unevenPages(most: Int) async throws {
        let bench = Bench(), box = Jukebox(48)
        let source = ItemSource.offsets(pageSize: 10) { offset, _ in try box.songs(at: offset, most).page }
        let report = try await bench.sync(source) { $0.concurrency = 1 }
        #expect(report.outcome == .complete)
        #expect(try await bench.songs == box.songs)
        #expect(box.places == Array(stride(from: 0, to: 48, by: most)))
    }

    @Test("The codec and the style of paging are stored with the query")
    func detectedPaging() async throws {
        let bench = Bench()
        try await bench.sync(try Style.pages.source(Jukebox(3)))
        let record = try #require(try await bench.storage.query(bench.key))
        #expect(record.paging == "page")
        #expect(record.source == #"{"codec":"json/1"}"#)
    }
}
