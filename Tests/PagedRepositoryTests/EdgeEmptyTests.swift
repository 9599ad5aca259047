import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// An origin of numbered rows in which some rows have another form.
private struct MixedOrigin: PageSource {
    var count = 60
    var size = 20
    var broken: Set<Int>

    var access: PagingAccess { .offsets }
    var largestOverlap: Int? { 0 }
    var usage: SourceUsage { SourceUsage() }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        var start = 0
        if case .offset(let offset) = request.target { start = offset }
        let items = (min(start, count)..<min(start + size, count)).map { number in
            let text = broken.contains(number) ? #"{"other":\#(number)}"# : #"{"id":"r\#(number)","number":\#(number)}"#
            return RawItem(payload: Array(text.utf8), id: "r\(number)")
        }
        return .page(FetchedPage(content: PageContent(items), total: .exact(count)))
    }
}

@Suite("At the edge of an application: a list is never silently short or empty", .timeLimit(.minutes(20)))
struct EdgeEmptyTests {
    private let bench = BadInputBench()

    // MARK: Items that do not decode (R7)

    @Test("One item that does not decode hides only itself: the rest is shown, and the list has an end")
    func oneUndecodable() async throws {
        let list = bench.list(MixedOrigin(broken: [7]))
        #expect(try await list.load() == .loaded(19))
        #expect(list.current.items.map(\.number) == (0..<20).filter { $0 != 7 })
        #expect(try await list.loadNext() == .loaded(20))
        #expect(try await list.loadNext() == .loaded(20))
        #expect(try await list.loadNext() == .endReached)
        #expect(list.current.undecodable == [7..<8] && list.current.itemsEnd == 60)
        #expect(list.current.position(ofItem: 6) == 6 && list.current.position(ofItem: 7) == 8)
        #expect(list.current.items.map(\.number) == (0..<60).filter { $0 != 7 })
        #expect(list.current.isAtEnd && list.current.pagesLoaded == 3)
    }

    @Test("Pages without an item that decodes do not end scrolling, because no further item could appear")
    func scrollsPastUndecodable() async throws {
        let list = bench.list(MixedOrigin(size: 10, broken: Set(10..<40)))
        try await list.load()
        await list.prefetch(from: 9)
        #expect(list.current.items.map(\.number) == Array(0..<10) + Array(40..<50))
        #expect(list.current.undecodable == [10..<40])
    }

    /// The codec of rows with another rule for items that do not decode.
    private struct RuledCodec: ItemCodec {
        var rule: UndecodableItems<Row>
        private let json = JSONItemCodec<Row>()

        init(_ rule: UndecodableItems<Row>) { self.rule = rule }

        var name: String { json.name }
        var undecodable: UndecodableItems<Row> { rule }
        func encode(_ value: Row) throws -> [UInt8] { try json.encode(value) }
        func decode(_ bytes: ArraySlice<UInt8>) throws -> Row { try json.decode(bytes) }
    }

    @Test("With a placeholder an item keeps its position as index; with stop the list ends before the first such item")
    func rules() async throws {
        let shown = [
            (
                UndecodableItems<Row>.placeholder { _, _ in Row(id: "?", number: -1) },
                (0..<60).map { $0 == 7 ? -1 : $0 }
            ),
            (.stop, Array(0..<7)),
        ]
        for (rule, numbers) in shown {
            let list = ListRepository(
                storage: MemoryStorage(clock: ManualClock()), codec: RuledCodec(rule), clock: ManualClock(),
                source: { _ in MixedOrigin(broken: [7]) }
            ).list(bench.key)
            _ = try? await list.loadAll()
            #expect(list.current.items.map(\.number) == numbers)
            #expect(list.current.undecodable == [7..<8])
            #expect(list.current.segments.last?.range.upperBound == 60)
        }
    }

    @Test("With stop a load after the item fails, and counts only shown items", arguments: [false, true])
    func stop(isScrolled: Bool) async throws {
        let list = ListRepository(
            storage: MemoryStorage(clock: ManualClock()), codec: RuledCodec(.stop), clock: ManualClock(),
            source: { _ in MixedOrigin(broken: [7]) }
        ).list(bench.key)
        var events = list.events.makeAsyncIterator()
        #expect(try await list.load() == .loaded(7))
        if isScrolled {
            await list.prefetch(from: 5)
            await list.prefetch(from: 6)
        } else {
            await #expect(throws: ListFailure.self) { try await list.loadNext() }
        }
        let failure = list.current.failure
        #expect(failure?.kind == .next && failure?.failure.failureClass == .undecodable)
        #expect(list.current.displayState == failure.map { .nextFailed($0) })
        await #expect(throws: ListFailure.self) { try await list.loadAll() }
        try await list.reset()
        var loaded: [Range<Int>] = []
        while let event = await events.next() {
            if case .pageLoaded(let range, _) = event { loaded.append(range) }
            if case .reset = event { break }
        }
        #expect(loaded.allSatisfy { $0.upperBound <= 7 }, "\(loaded)")
    }

    @Test("The events of loaded pages have all items, those after an item that does not decode as well")
    func eventsAroundUndecodable() async throws {
        let list = bench.list(MixedOrigin(broken: [7, 12, 40]))
        var events = list.events.makeAsyncIterator()
        try await list.load()
        while list.current.hasMore { try await list.loadNext() }
        try await list.reset()
        var numbers: [Int] = []
        while let event = await events.next() {
            if case .pageLoaded(let range, let rows) = event {
                #expect(Array(range) == rows.map(\.number))
                numbers += rows.map(\.number)
            }
            if case .reset = event { break }
        }
        #expect(numbers == (0..<60).filter { ![7, 12, 40].contains($0) })
    }

    @Test("An item that does not decode is reported by one event, and a refresh keeps the items after it")
    func oneEvent() async throws {
        let list = bench.list(MixedOrigin(broken: [27]))
        var events = list.events.makeAsyncIterator()
        try await list.loadAll()
        for _ in 0..<3 { try await list.refresh() }
        #expect(list.current.items.count == 59 && list.current.isAtEnd)
        try await list.reset()
        var reports: [[Range<Int>]] = []
        while let event = await events.next() {
            if case .undecodable(let ranges) = event { reports.append(ranges) }
            if case .reset = event { break }
        }
        #expect(reports == [[27..<28]])
    }

    @Test("A page with an item that does not decode stays shown while it cannot be fetched again (R14)")
    func refetchFails() async throws {
        let origin = StagedOrigin()
        let list = ListRepository(
            storage: bench.storage, codec: PickyCodec([17]), clock: bench.clock, source: { _ in origin }
        ).list(bench.key)
        try await list.loadAll()
        for _ in 0..<2 {
            let before = origin.requests.count
            origin.fail(nil, .status(403))
            try await list.refresh()
            #expect(origin.requests.count == before + 2, "page one, and the page of the item")
            #expect(list.current.items.map(\.number) == (0..<48).filter { $0 != 17 })
            #expect(!list.current.hasMore && list.current.gaps.isEmpty)
        }
    }

    @Test("A list of items that do not decode is not empty")
    func allUndecodable() async throws {
        let list = bench.list(MixedOrigin(count: 200, broken: Set(0..<200)))
        try await list.load()
        #expect(list.current.displayState == .unusable)
        #expect(list.current.itemsEnd == 120, "page one, and five pages behind it")
        #expect(list.current.isLoaded && list.current.items.isEmpty)
        #expect(try await list.loadNext() == .undecodable(20))
    }

    @Test(
        "The first load goes on behind pages without an item that decodes, because no row could request the next page",
        arguments: [1, 2, 5], [false, true])
    func firstPagesUndecodable(pages: Int, isEphemeral: Bool) async throws {
        let list = bench.list(MixedOrigin(count: 160, broken: Set(0..<pages * 20))) { $0.isEphemeral = isEphemeral }
        #expect(try await list.load() == .loaded(20))
        #expect(list.current.items.map(\.number) == Array(pages * 20..<pages * 20 + 20))
        #expect(list.current.displayState == .items && list.current.hasMore)
        try await list.loadAll()
        #expect(list.current.items.map(\.number) == Array(pages * 20..<160) && !list.current.hasMore)
    }

    @Test("A page that fails behind a page one without an item that decodes is a failure, and its retry requests it")
    func failsBehindUndecodable() async throws {
        let origin = StagedOrigin(30)
        origin.fail(nil, .status(500))
        let list = ListRepository(
            storage: bench.storage, codec: PickyCodec(Set(0..<10)), clock: bench.clock, source: { _ in origin }
        ).list(bench.key)
        let failure = await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(failure?.kind == .next)
        #expect(list.current.displayState == failure.map { .firstFailed($0) })
        try await list.retry()
        #expect(list.current.items.first?.number == 10 && list.current.displayState == .items)
    }

    @Test("A list whose item type changed while the origin is unreachable is not empty")
    func otherType() async throws {
        struct Other: Codable { var title: String }
        try await bench.list(StagedOrigin()).load()
        let away = ItemSource<Other>.offsets(pageSize: 10) { _, _ -> [Other] in
            throw FetchFailure(.transport, "the origin is unreachable", isRetryable: true)
        }
        let list = ListRepository(storage: bench.storage, source: away, clock: bench.clock).list(bench.key)
        try await list.load(.cacheOnly)
        #expect(list.current.displayState == .unusable)
        _ = try? await list.load()
        #expect(list.current.displayState != .empty && list.current.failure?.kind == .refresh)
    }

    // MARK: Limits

    @Test("A page that is larger than the item limit is shown up to the limit", arguments: [5, 10, 15, 20])
    func itemLimit(limit: Int) async throws {
        let list = bench.list(StagedOrigin()) { $0.itemLimit = limit }
        try await list.load()
        try await list.loadNext()
        #expect(list.current.items.map(\.number) == Array(0..<limit))
        #expect(list.current.displayState == .items && list.current.hasMore)
        #expect(try await list.loadNext() == .itemLimitReached)
    }

    @Test("The items of a list that is not stored are shown up to the item limit, too", arguments: [5, 10, 15, 20])
    func ephemeralLimit(limit: Int) async throws {
        let list = bench.list(StagedOrigin()) { ($0.itemLimit, $0.isEphemeral) = (limit, true) }
        try await list.load()
        _ = try? await list.loadNext()
        #expect(list.current.items.map(\.number) == Array(0..<limit))
        #expect(list.current.hasMore && !list.current.isAtEnd)
        if limit % 10 > 0 { #expect(try await list.loadNext() == .itemLimitReached) }
    }

    @Test("One answer of 100,001 items is not an empty list")
    func oneLargeAnswer() async throws {
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, _ in
            ItemPage(items: offset == 0 ? Row.list(0..<100_001) : [], total: 100_001)
        }
        let list = bench.list(source)
        try await list.load()
        #expect(list.current.items.count == 100_000)
        #expect(list.current.displayState == .items)
    }

    @Test("Only an answer without items and without evidence of more is an empty list")
    func empty() async throws {
        let none = ItemSource<Row>.offsets(pageSize: 10) { _, _ in ItemPage(items: [], total: 0) }
        let list = bench.repository(none).list("none")
        try await list.load()
        #expect(list.current.displayState == .empty)
        let promising = ItemSource<Row>.offsets(pageSize: 10) { _, _ in ItemPage(items: [], total: 40) }
        let other = bench.repository(promising).list("promising")
        _ = try? await other.load()
        #expect(other.current.displayState != .empty, "\(other.current.displayState)")
    }

    // MARK: Windows

    @Test("A window returns the items after a gap as well")
    func window() async throws {
        let repository = bench.repository(StagedOrigin(100))
        _ = try await repository.page(bench.key, offset: 0, limit: 10)
        _ = try await repository.page(bench.key, offset: 20, limit: 10)
        let window = try await repository.page(bench.key, offset: 5, limit: 20, policy: .cacheOnly)
        #expect(window.missing == [10..<20])
        #expect(window.segments.map(\.range) == [5..<10, 20..<25])
        #expect(window.segments.flatMap { $0.items.map(\.number) } == Array(5..<10) + Array(20..<25))
    }
}
