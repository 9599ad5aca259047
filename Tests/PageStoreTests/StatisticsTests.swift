import Foundation
import PageModel
import PageStore
import StorageSupport
import Testing

/// The statistics of a store contain the sizes of its files and the tallies of recorded runs.
@Suite("Statistics of a store")
struct StatisticsTests {
    @Test("Statistics report the sizes of the files, and count items and ledger states by query")
    func sizes() async throws {
        let bench = try await Bench<SQLitePageStore>()
        try await bench.put(0, items(0..<100))
        try await bench.commit([], ledger: [.succeeded(offset: 0)])
        let failure = FetchFailure(.server, "m", isRetryable: true)
        try await bench.store.record(
            [.failed(offset: 100, failure: failure, nextAttemptIn: nil)], for: bench.query, at: noon)
        _ = try await bench.store.register("empty", at: noon)

        let found = try await bench.store.statistics()
        #expect(found.queries.map(\.items) == [100, 0])
        #expect(found.queries.first?.ledger == [.ok: 1, .failedRetryable: 1])
        #expect(found.ledger == [.ok: 1, .failedRetryable: 1])
        #expect((found.items, found.pages) == (100, 1))
        #expect(found.bytes == (try await bench.store.summaries().reduce(0) { $0 + $1.bytes }))
        #expect(found.bytes > 100 * #"{"id":"i0"}"#.utf8.count)
        let path = bench.folder.store
        func size(_ file: String) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
        }
        #expect(found.fileBytes == (try size(path)))
        #expect(found.logBytes == (try size(path + "-wal")))
        #expect(found.schema == 1)
    }

    @Test("A purge returns the freed space, and removes the query's tally")
    func freed() async throws {
        let bench = try await Bench<SQLitePageStore>()
        try await bench.put(0, items(0..<10_000))
        try await bench.store.add(RunTally(runs: 1, requests: 3), to: bench.query, at: noon)
        _ = try await bench.store.purge([bench.query])
        let found = try await bench.store.statistics()
        #expect(found.queries.isEmpty)
        #expect(found.freeBytes == 0)
        #expect(found.tally == RunTally())
        #expect(try await bench.store.verify().isSound)
    }

    @Test("Tallies add up by query since the first run, and a missing query has none")
    func tallies() async throws {
        let bench = try await Bench<SQLitePageStore>()
        let other = try await bench.store.register("other", at: noon).id
        let first = RunTally(runs: 1, requests: 11, pagesFetched: 11, bytesReceived: 9_000)
        let second = RunTally(runs: 1, requests: 1, pagesUnchanged: 1, pagesKept: 10, bytesReceived: 100)
        try await bench.store.add(first, to: bench.query, at: noon)
        try await bench.store.add(second, to: bench.query, at: noon + .seconds(60))
        try await bench.store.add(RunTally(runs: 1, requests: 5), to: QueryID(rawValue: 4_711), at: noon)

        let found = try await bench.store.statistics()
        let own = try #require(found.queries.first { $0.summary.outline.record.id == bench.query }).tally
        #expect(
            own
                == RunTally(
                    beganAt: noon, runs: 2, requests: 12, pagesFetched: 11, pagesUnchanged: 1, pagesKept: 10,
                    bytesReceived: 9_100))
        #expect(own.requestsSaved == 10)
        #expect(own.hitRate == 0.5)
        #expect(found.queries.first { $0.summary.outline.record.id == other }?.tally == RunTally())
        #expect(found.tally == own)
    }

    @Test("A tally of an origin that only fails saves no requests, and a run without pages has no hit rate")
    func nothingSaved() {
        let tally = RunTally(runs: 1, requests: 40, pagesFetched: 3)
        #expect(tally.requestsSaved == 0)
        #expect(tally.hitRate == 0)
        #expect(RunTally(runs: 1, requests: 5).hitRate == nil)
    }

    @Test("An impossible tally is refused, and a read-only store records none")
    func refused() async throws {
        let bench = try await Bench<SQLitePageStore>()
        for tally in [RunTally(requests: -1), RunTally(bytesReceived: .max)] {
            let error = await #expect(throws: StorageError.self) {
                try await bench.store.add(tally, to: bench.query, at: noon)
            }
            #expect(error?.code == .invalidPlan)
        }
        let reader = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .readOnly)
        let error = await #expect(throws: StorageError.self) {
            try await reader.add(RunTally(runs: 1), to: bench.query, at: noon)
        }
        #expect(error?.code == .permission)
        #expect(try await reader.statistics().queries.count == 1)
        await reader.close()
    }

    @Test("Sums of tallies saturate at the largest number that a store can keep")
    func saturated() async throws {
        let bench = try await Bench<SQLitePageStore>()
        for _ in 0..<2 { try await bench.store.add(RunTally(requests: ListTotal.largest), to: bench.query, at: noon) }
        #expect(try await bench.store.statistics().tally.requests == ListTotal.largest)
    }
}
