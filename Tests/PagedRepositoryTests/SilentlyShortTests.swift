import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Lists that change while they are loaded, and lists of equal items. A list that says that it has no more items has
/// every item.
@Suite("At the edge of an application: no list is short and says that it has ended", .timeLimit(.minutes(20)))
struct SilentlyShortTests {
    struct Line: Codable, Hashable, Sendable { var text: String }

    private func list<Value: Codable & Sendable>(
        _ source: ItemSource<Value>, isEphemeral: Bool = false
    ) -> PagedList<Value> {
        var options = PagedListOptions()
        options.isEphemeral = isEphemeral
        return ListRepository(storage: MemoryStorage(), source: source, options: options).list("list")
    }

    // MARK: Items without ids

    static let texts: [[String]] = [
        ["a", "b", "a"], Array(repeating: "same", count: 12), (0..<45).map { $0 % 3 == 0 ? "same" : "line \($0)" },
        (0..<45).map { $0 == 31 ? "line 4" : "line \($0)" },
    ]

    @Test(
        "A list in memory has each of several equal items without ids", arguments: texts.indices, [true, false])
    func equalItems(number: Int, hasTotal: Bool) async throws {
        let lines = SilentlyShortTests.texts[number].map { Line(text: $0) }
        let size = try PageSize(lines.count == 3 ? 2 : 10)
        @Sendable func part(_ offset: Int, _ count: Int) -> ItemPage<Line> {
            ItemPage(items: Array(lines.dropFirst(offset).prefix(count)), total: hasTotal ? lines.count : nil)
        }
        let sources: [ItemSource<Line>] = [
            .offsets(pageSize: size) { offset, count in part(offset, count) },
            .pages(size: size) { page, count in part((page - 1) * count, count) },
        ]
        for source in sources {
            for loadsAll in [true, false] {
                let list = list(source, isEphemeral: true)
                if loadsAll { try await list.loadAll() }
                for _ in 0..<20 where list.current.hasMore { try await list.loadNext() }
                #expect(Array(list.current.items) == lines)
            }
        }
    }

    @Test(
        "A stored list by position whose last item equals one of page one, without ids, is whole or fails",
        arguments: [true, false])
    func equalStoredItem(byPage: Bool) async throws {
        let lines = ["a", "b", "a"].map { Line(text: $0) }
        let source: ItemSource<Line> =
            byPage
            ? .pages(size: 2) { page, count in ItemPage(items: Array(lines.dropFirst((page - 1) * count).prefix(count)))
            }
            : .offsets(pageSize: 2) { offset, count in ItemPage(items: Array(lines.dropFirst(offset).prefix(count))) }
        let list = list(source)
        _ = try? await list.loadAll()
        #expect(Array(list.current.items) == lines || list.current.failure != nil && list.current.hasMore)
    }

    // MARK: Lists that grow and shrink

    @Test(
        "A list in memory does not end while inserts move its items",
        arguments: [(2, 1), (3, 2), (5, 4), (10, 9), (10, 10)],
        [true, false])
    func growing(page: (size: Int, inserts: Int), byPage: Bool) async throws {
        for period in [1, 2, 3, 5] {
            let state = Mutex((requests: 0, inserted: 0))
            @Sendable func part(_ offset: Int, _ count: Int) -> ItemPage<Row> {
                let inserted = state.withLock { state in
                    state.requests += 1
                    if state.requests % period == 0, state.requests < 200 { state.inserted += page.inserts }
                    return state.inserted
                }
                let all = Row.list(10_000 - inserted..<10_000 + 10 * page.size)
                return ItemPage(items: Array(all.dropFirst(offset).prefix(count)))
            }
            let size = try PageSize(page.size)
            let list = list(
                byPage
                    ? ItemSource.pages(size: size) { number, count in part((number - 1) * count, count) }
                    : ItemSource.offsets(pageSize: size) { offset, count in part(offset, count) },
                isEphemeral: true)
            _ = try? await list.loadAll()
            let snapshot = list.current
            #expect(snapshot.hasMore || snapshot.failure != nil || snapshot.items.count >= 10 * page.size, "\(period)")
        }
    }

    @Test("A chain by position has every item after a deletion during the load of the whole list")
    func deletedDuringLoad() async throws {
        for request in 2...5 {
            for position in [0, 4, 12, 25] {
                let state = Mutex((rows: Row.list(0..<45), requests: 0))
                let list = list(
                    ItemSource<Row>.cursors { (cursor: Int?, _) -> CursorPage<Row, Int> in
                        state.withLock { state in
                            state.requests += 1
                            if state.requests == request { state.rows.remove(at: position) }
                            let start = cursor ?? 0
                            let items = Array(state.rows.dropFirst(start).prefix(10))
                            let end = start + items.count
                            return CursorPage(
                                items: items, next: end < state.rows.count ? end : nil, total: state.rows.count)
                        }
                    })
                try await list.loadAll()
                #expect(
                    Array(list.current.items) == state.withLock { $0.rows },
                    "deleted at \(position) before request \(request)")
            }
        }
    }

    // MARK: Sources and removed lists

    /// A session that begins with the first call of a source. Its task refreshes the list when a message arrives.
    private final class Session: Sendable {
        let list = Mutex<PagedList<Row>?>(nil)
        private let task = Mutex<Task<LoadOutcome?, any Error>?>(nil)
        private let (messages, sender) = AsyncStream<Void>.makeStream()

        func begin() {
            task.withLock { task in
                guard task == nil else { return }
                task = Task { [messages, self] in
                    for await _ in messages { break }
                    return try await list.withLock(\.self)?.refresh()
                }
            }
        }

        func receive() async throws -> LoadOutcome? {
            sender.yield()
            return try await task.withLock(\.self)?.value
        }
    }

    @Test("A task that a source has started may refresh the list after the call has ended")
    func taskOfSource() async throws {
        let session = Session()
        let list = list(
            ItemSource<Row>.offsets(pageSize: 10) { offset, count in
                session.begin()
                return ItemPage(items: Array(Row.list(0..<30).dropFirst(offset).prefix(count)), total: 30)
            })
        session.list.withLock { $0 = list }
        defer { session.list.withLock { $0 = nil } }
        try await list.load()
        #expect(try await session.receive() == .upToDate)
    }

    @Test("A forgotten list stays empty while another call stores the list again, until it is loaded")
    func storedAfterForget() async throws {
        let repository = ListRepository(
            storage: MemoryStorage(),
            source: ItemSource<Row>.offsets(pageSize: 10) { offset, count in
                ItemPage(items: Array(Row.list(0..<45).dropFirst(offset).prefix(count)), total: 45)
            })
        let list = repository.list("list")
        let listener = Task { [snapshots = list.snapshots] in for await _ in snapshots {} }
        defer { listener.cancel() }
        try await list.load()
        try await repository.forget("list")
        #expect(try await repository.page("list", offset: 0, limit: 10).items.count == 10)
        #expect(list.current.items.isEmpty && list.current.displayState == .nothing)
        try await list.load()
        #expect(list.current.items.count == 10 && list.current.hasMore)
    }
}
