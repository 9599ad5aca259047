import PageModel
import PagedRepository
import Testing

@Suite("Pages that may not be stored, behind stored ones")
struct NoStoreTailTests {
    private let bench = BadInputBench()

    @Test(
        "A list that changes before a page that may not be stored is read again from page one (R5, R15)",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain], [true, false])
    func moved(access: PagingAccess, isInsert: Bool) async throws {
        let origin = MarkedOrigin(StagedOrigin(30, access: access))
        let list = bench.list(origin)
        try await list.load()
        try await list.loadNext()
        #expect(list.current.isStored && list.current.items.count == 20)
        origin.mark(noStore)
        if isInsert { origin.origin.rows.insert(StagedOrigin.row(99), at: 0) } else { origin.origin.rows.removeFirst() }
        #expect(try await list.loadNext() == .loaded(isInsert ? 10 : 9))
        #expect(Array(list.current.items) == Array(origin.origin.rows.prefix(30)))
        for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
        #expect(Array(list.current.items) == origin.origin.rows)
        #expect(!list.current.hasMore && !list.current.isStored && list.current.failure == nil)
        #expect(try await bench.outline?.coverage.segments == [0..<20], "the stored items stay (R14)")
    }

    @Test("Without a total, the last stored items show that the list has changed (R15, R21)", arguments: [true, false])
    func movedWithoutTotal(isInsert: Bool) async throws {
        let origin = MarkedOrigin(StagedOrigin(35, total: nil))
        let list = bench.list(origin) { $0.sync.overlap = 1 }
        try await list.load()
        try await list.loadNext()
        origin.mark(noStore)
        if isInsert { origin.origin.rows.insert(StagedOrigin.row(99), at: 0) } else { origin.origin.rows.removeFirst() }
        for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
        #expect(Array(list.current.items) == origin.origin.rows)
        #expect(!list.current.hasMore && list.current.failure == nil)
    }

    @Test("A page that fails while the list is read again leaves the stored items, and the retry reads it again (R37)")
    func retried() async throws {
        let origin = MarkedOrigin(StagedOrigin(30))
        let list = bench.list(origin)
        try await list.load()
        try await list.loadNext()
        origin.mark(noStore)
        origin.origin.rows.removeFirst()
        origin.origin.fail(nil, FetchFailure(.transport, "away", isRetryable: true))
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(list.current.items.map(\.number) == Array(0..<20) && list.current.failure?.kind == .next)
        #expect(try await list.retry() == .loaded(9))
        #expect(Array(list.current.items) == origin.origin.rows && list.current.failure == nil)
    }
}
