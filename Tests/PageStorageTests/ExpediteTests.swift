import PageModel
import StorageSupport
import Testing

/// Expediting a page makes it due although automatic triggers would postpone or skip it (R33).
@Suite("Making a failed page due")
struct ExpediteTests {
    private func failure(isRetryable: Bool) -> FetchFailure {
        FetchFailure(.throttled, "m", isRetryable: isRetryable, httpStatus: 429, retryAfter: .seconds(600))
    }

    @Test(
        "An expedited page is due at once, even after a permanent failure, and keeps its failure record",
        arguments: StorageKind.allCases)
    func hastened(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.store.record(
            [
                .failed(offset: 10, failure: failure(isRetryable: true), nextAttemptIn: .seconds(600)),
                .failed(offset: 20, failure: failure(isRetryable: false), nextAttemptIn: nil),
            ], for: bench.query, at: noon)
        let before = try await bench.list.ledger
        let now = noon + .seconds(5)
        #expect(try await bench.store.due(before: now, limit: 9).isEmpty)
        try await bench.store.record([.expedited(offset: 20), .expedited(offset: 10)], for: bench.query, at: now)
        let after = try await bench.list.ledger
        #expect(after.map(\.nextAttemptAt) == [now, now])
        #expect(after.map(\.retryAfterUntil) == [nil, nil])
        #expect(after.map(\.state) == [.failedRetryable, .failedPermanent])
        #expect(after.map(\.attempts) == before.map(\.attempts))
        #expect(after.map(\.failure) == before.map(\.failure))
        #expect(after.map(\.firstFailureAt) == [noon, noon])
        #expect(Set(try await bench.store.due(before: now, limit: 9).map(\.entry.offset)) == [10, 20])
    }

    @Test(
        "Expediting changes neither a page in flight nor a stored one, and creates no entry",
        arguments: StorageKind.allCases)
    func ignored(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let failed = LedgerEdit.failed(offset: 10, failure: failure(isRetryable: true), nextAttemptIn: .zero)
        try await bench.store.record([failed, .succeeded(offset: 20)], for: bench.query, at: noon)
        #expect(try await bench.store.claim([10], of: bench.query, until: noon + .seconds(60), at: noon) == [10])
        let before = try await bench.list
        try await bench.store.record(
            [.expedited(offset: 10), .expedited(offset: 20), .expedited(offset: 30)], for: bench.query,
            at: noon + .seconds(1))
        #expect(try await bench.list == before)
        #expect(
            try await bench.store.claim([10], of: bench.query, until: noon + .seconds(61), at: noon + .seconds(1))
                .isEmpty)
    }

    @Test("Observers of a list are notified when a page is expedited", arguments: StorageKind.allCases)
    func told(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.store.record(
            [.failed(offset: 10, failure: failure(isRetryable: true), nextAttemptIn: nil)], for: bench.query, at: noon)
        var notices = bench.store.notices(of: bench.query).makeAsyncIterator()
        try await bench.store.record([.expedited(offset: 10)], for: bench.query, at: noon)
        guard case .changed(let set) = await notices.next() else {
            Issue.record("the observer was not notified")
            return
        }
        #expect(set.changes == [.ledger([10])])
    }
}
