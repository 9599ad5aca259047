import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// An origin in memory whose rows a test changes, with the number of its requests.
///
/// State: the rows and the number of requests, under a mutex.
final class ChangingOrigin: Sendable {
    private struct State {
        var rows: [Row]
        var requests = 0
        var total: Int?
        var before: (@Sendable (Int, inout [Row]) -> Void)?
    }

    private let state: Mutex<State>
    private let statesTotal: Bool

    init(_ count: Int, total: Bool) {
        state = Mutex(State(rows: Row.list(0..<count)))
        statesTotal = total
    }

    var rows: [Row] {
        get { state.withLock { $0.rows } }
        set { state.withLock { $0.rows = newValue } }
    }

    var requests: Int { state.withLock { $0.requests } }

    /// Sets a closure that may change the rows before each answer.
    func before(_ change: @escaping @Sendable (Int, inout [Row]) -> Void) { state.withLock { $0.before = change } }

    func page(_ offset: Int, _ size: Int) -> ItemPage<Row> {
        state.withLock { state in
            state.requests += 1
            state.before?(state.requests, &state.rows)
            let items = Array(state.rows.dropFirst(offset).prefix(size))
            return ItemPage(items: items, total: statesTotal ? state.rows.count : Int?.none)
        }
    }
}

/// One change of a list of 65 rows after two pages of ten were loaded.
enum ListChange: CaseIterable, Sendable {
    case insertedAt0
    case insertedAt15
    case insertedAt25
    case deletedAt0
    case deletedAt15
    case moved

    func apply(to rows: inout [Row]) {
        switch self {
        case .insertedAt0: rows.insert(StagedOrigin.row(1_000), at: 0)
        case .insertedAt15: rows.insert(StagedOrigin.row(1_000), at: 15)
        case .insertedAt25: rows.insert(StagedOrigin.row(1_000), at: 25)
        case .deletedAt0: rows.remove(at: 0)
        case .deletedAt15: rows.remove(at: 15)
        case .moved: rows.insert(rows.remove(at: 5), at: 30)
        }
    }
}

@Suite("At the edge of an application: the list changes between two pages", .timeLimit(.minutes(20)))
struct EdgeChangeTests {
    enum Kind: CaseIterable, Sendable { case stored, ephemeral, noStore }

    private let bench = BadInputBench()

    private func list(_ origin: ChangingOrigin, _ kind: Kind, size: PageSize = 10) -> PagedList<Row> {
        let source = ItemSource<Row>.offsets(pageSize: size) { offset, size in
            var page = origin.page(offset, size)
            page.mayBeStored = kind != .noStore
            return page
        }
        return bench.list(source) { ($0.sync.overlap, $0.isEphemeral) = (1, kind == .ephemeral) }
    }

    private func scroll(_ list: PagedList<Row>) async throws {
        var pages = 0
        while list.current.hasMore, pages < 50 {
            pages += 1
            try await list.loadNext()
        }
    }

    @Test(
        "One change of the list between two pages loses no item and shows no item twice (X6)", arguments: Kind.allCases,
        ListChange.allCases)
    func oneChange(kind: Kind, change: ListChange) async throws {
        for total in [true, false] {
            let bench = EdgeChangeTests()
            let origin = ChangingOrigin(65, total: total)
            let list = bench.list(origin, kind)
            try await list.load()
            try await list.loadNext()
            change.apply(to: &origin.rows)
            try await bench.scroll(list)
            if total || change != .insertedAt0 && change != .insertedAt15 || kind != .stored {
                // Without a total, an insert before the loaded pages shows only in page one.
                #expect(Set(list.current.items.map(\.id)).isSuperset(of: origin.rows.dropFirst(16).map(\.id)))
            }
            try await list.refresh()
            try await list.loadAll()
            #expect(Array(list.current.items) == origin.rows, "total \(total)")
            #expect(list.current.failure == nil && !list.current.hasMore)
        }
    }

    @Test(
        "A list that gains an item with each request is loaded, or fails as a list that kept changing (R24)",
        arguments: Kind.allCases,
        [true, false])
    func growing(kind: Kind, total: Bool) async throws {
        let origin = ChangingOrigin(400, total: total)
        origin.before { number, rows in rows.insert(StagedOrigin.row(1_000 + number), at: 0) }
        let list = list(origin, kind, size: 20)
        try await list.load()
        do { try await list.loadAll() } catch let failure as ListFailure {
            // A stored list is not believed whole while it changes with each request.
            #expect(kind == .stored && failure.failure.failureClass == .unconfirmed, "\(failure)")
            return
        }
        let held = Set(list.current.items.map(\.id))
        #expect(held.isSuperset(of: Row.list(0..<400).map(\.id)) && held.count == list.current.items.count)
    }

    @Test(
        "A list whose loss two answers have shown is whole, and each later refresh confirms it with one request (R20)",
        arguments: [(0, true), (0, false), (5, true)])
    func confirmedLoss(left: Int, total: Bool) async throws {
        let origin = ChangingOrigin(40, total: total)
        let list = list(origin, .stored)
        try await list.loadAll()
        origin.rows = Row.list(100..<100 + left)
        _ = try? await list.refresh()
        bench.clock.advance(by: .seconds(60))
        try await list.refresh()
        let before = origin.requests
        for _ in 0..<4 {
            try await list.refresh()
            #expect(list.current.items.map(\.number) == Array(100..<100 + left) && !list.current.hasMore)
        }
        #expect(list.current.segments.allSatisfy { $0.isHeld })
        #expect(origin.requests == before + 4)
    }

    @Test("Two pages of 20 show 40 items with a total, and 39 without one, because the second repeats an item (R21)")
    func twoPages() async throws {
        for (total, overlap, count) in [(true, 1, 40), (false, 1, 39), (false, 0, 40)] {
            let origin = ChangingOrigin(100, total: total)
            let source = ItemSource<Row>.offsets(pageSize: 20) { offset, size in origin.page(offset, size) }
            let list = BadInputBench().list(source) { $0.sync.overlap = overlap }
            try await list.load()
            #expect(try await list.loadNext() == .loaded(count - 20))
            #expect(list.current.items.map(\.number) == Array(0..<count))
            #expect(origin.requests == 2)
        }
    }

    @Test("The event of a refresh names the edited item, and no other item of page one (R6)")
    func editedItem() async throws {
        let origin = ChangingOrigin(40, total: true)
        let list = list(origin, .stored)
        var events = list.events.makeAsyncIterator()
        try await list.loadAll()
        origin.rows[3].number = 1_003
        #expect(try await list.refresh() == .changed)
        var expected = ListDifference()
        expected.rewritten = [.init(from: 3, to: 3)]
        while let event = await events.next() {
            guard case .refreshed(let difference) = event else { continue }
            #expect(difference == expected)
            break
        }
    }

    @Test(
        "A failed request behind a last page that has become shorter leaves a list that every call can load",
        arguments: [1, 2, 3, 5], 1...5)
    func failureBehindShorterPage(removed: Int, failing: Int) async throws {
        for isWhole in [true, false] {
            let bench = BadInputBench()
            let state = Mutex((rows: Row.list(0..<35), requests: 0, isArmed: false))
            let source = ItemSource<Row>.pages(size: 22) { page, size -> [Row] in
                try state.withLock { state -> [Row] in
                    if state.isArmed {
                        state.requests += 1
                        if state.requests == failing { throw FetchFailure.status(500) }
                    }
                    return Array(state.rows.dropFirst((page - 1) * size).prefix(size))
                }
            }
            let list = bench.list(source)
            try await list.loadAll()
            state.withLock { state in
                state.rows.removeLast(removed)
                state.isArmed = true
            }
            _ = try? await list.loadAll()
            state.withLock { $0.isArmed = false }
            bench.clock.advance(by: .seconds(100))
            if !isWhole { for _ in 0..<3 where list.current.hasMore { try await list.loadNext() } }
            try await list.loadAll()
            #expect(Array(list.current.items) == Row.list(0..<35 - removed))
            #expect(!list.current.hasMore && list.current.failure == nil)
        }
    }
}
