import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A codec that counts the items that it decodes.
///
/// State: the count, under a mutex.
private final class CountingCodec: ItemCodec {
    private let json = JSONItemCodec<Row>()
    private let count = Mutex(0)

    var decoded: Int { count.withLock { $0 } }
    var name: String { json.name }

    func encode(_ value: Row) throws -> [UInt8] { try json.encode(value) }

    func decode(_ bytes: ArraySlice<UInt8>) throws -> Row {
        count.withLock { $0 += 1 }
        return try json.decode(bytes)
    }
}

/// An item that counts how often items are compared.
private struct Compared: Identifiable, Equatable, Sendable {
    static let comparisons = Mutex(0)

    var number: Int

    var id: Int {
        Compared.comparisons.withLock { $0 += 1 }
        return number
    }

    static func == (left: Compared, right: Compared) -> Bool {
        comparisons.withLock { $0 += 1 }
        return left.number == right.number
    }
}

/// A storage that counts how often the items of each page of a list are checked.
///
/// State: the count, under a mutex.
private final class CheckedStorage: RelayedStorage {
    let storage: any PageStorage
    private let count = Mutex(0)

    var checks: Int { count.withLock { $0 } }

    init(_ storage: any PageStorage) { self.storage = storage }

    func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        count.withLock { $0 += 1 }
        return try await storage.damage(of: query, thoroughly: thoroughly)
    }
}

/// The work of one step does not grow with the list. Counts prove it, and no times.
@Suite("A list that is loaded page by page", .timeLimit(.minutes(5)))
struct PageByPageTests {
    private let bench = BadInputBench()

    @Test(
        "Each page is decoded once, also when decoded pages have no memory of their own",
        arguments: [0, 3_000, 32 << 20])
    func decodes(memoryBudget: Int) async throws {
        let codec = CountingCodec()
        let origin = StagedOrigin(300)
        let list = ListRepository(
            storage: bench.storage, codec: codec, memoryBudget: memoryBudget, clock: bench.clock, jitter: { 0.5 },
            source: { _ in origin }
        ).list(bench.key)
        let snapshots = list.snapshots
        try await list.load()
        while list.current.hasMore { try await list.loadNext() }
        try await list.refresh()
        #expect(list.current.items.map(\.number) == Array(0..<300))
        // Two concurrent reads may both decode the page that has just arrived.
        #expect(codec.decoded >= 300 && codec.decoded <= 2 * 300, "\(codec.decoded) items were decoded")
        withExtendedLifetime(snapshots) {}
    }

    @Test("A load of the next page checks the stored pages once, and a refresh that changes the list checks them, too")
    func checks() async throws {
        let origin = StagedOrigin(60)
        let storage = CheckedStorage(bench.storage)
        let list = ListRepository(
            storage: storage, codec: CountingCodec(), clock: bench.clock, jitter: { 0.5 }, source: { _ in origin }
        ).list(bench.key)
        try await list.load()
        for _ in 0..<3 {
            let before = storage.checks
            try await list.loadNext()
            #expect(storage.checks == before + 1)
        }
        origin.rows.insert(StagedOrigin.row(99), at: 0)
        let before = storage.checks
        try await list.refresh()
        #expect(storage.checks > before)
    }

    @Test("A page that was edited is decoded again, and its old values are not shown")
    func edited() async throws {
        let origin = StagedOrigin(30)
        let list = ListRepository(
            storage: bench.storage, codec: CountingCodec(), memoryBudget: 0, clock: bench.clock, jitter: { 0.5 },
            source: { _ in origin }
        ).list(bench.key)
        try await list.loadAll()
        origin.rows[3].number = 1_003
        try await list.refresh()
        #expect(list.current.items.map(\.number) == origin.rows.map(\.number))
        try await list.reset()
        origin.rows[3].number = 3
        try await list.loadAll()
        #expect(list.current.items.map(\.number) == Array(0..<30))
    }

    @Test("The difference to a list with one more page compares no item of the pages that both share")
    func differences() {
        let pages = (0..<100).map { page in (page * 10..<page * 10 + 10).map { Compared(number: $0) } }
        let (old, new) = (PagedItems(pages.dropLast()), PagedItems(pages))
        let before = Compared.comparisons.withLock { $0 }
        let difference = ItemsDifference(from: old, to: new)
        #expect(Compared.comparisons.withLock { $0 } == before)
        #expect(difference.insertions == Array(990..<1_000))
        #expect(difference.removals.isEmpty && difference.updates.isEmpty)
    }
}
