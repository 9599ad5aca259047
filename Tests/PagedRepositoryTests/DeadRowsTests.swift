import Metrics
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@testable import PagedRepository

/// A storage that counts rows as a server does, or fails to.
///
/// State: the answers that are left, under a mutex.
private final class RowsAtServer: RelayedStorage, RowCounting {
    let storage: any PageStorage = MemoryStorage(clock: ManualClock())
    let answers: Mutex<[[RowCount]?]>

    init(_ answers: [[RowCount]?]) { self.answers = Mutex(answers) }

    func rowCounts() async throws(StorageError) -> [RowCount] {
        guard let answer = answers.withLock({ $0.removeFirst() }) else { throw StorageError(.unavailable, "away") }
        return answer
    }
}

@Suite("Dead rows of a storage on a server")
struct DeadRowsTests {
    @Test("Dead rows are recorded once a minute, as the sum of all tables; a failure leaves the last value")
    func recorded() async {
        let metrics = RecordingMetrics()
        await withMetricsFactory(metrics) {
            let storage = RowsAtServer([
                [RowCount(table: "page", live: 100, dead: 7), RowCount(table: "ledger", live: 5, dead: 5)], nil,
                [RowCount(table: "page", live: 100, dead: 0)],
            ])
            var rows = DeadRows(storage)
            await rows.record(at: noon)
            await rows.record(at: noon + .seconds(59))
            #expect(metrics.values(Metric.deadRows.rawValue) == [12])
            await rows.record(at: noon + .seconds(60))
            #expect(metrics.values(Metric.deadRows.rawValue) == [12])
            await rows.record(at: noon + .seconds(120))
            #expect(metrics.values(Metric.deadRows.rawValue) == [12, 0])
        }
    }

    @Test("A storage that counts no rows has no such series")
    func none() async {
        let metrics = RecordingMetrics()
        await withMetricsFactory(metrics) {
            var rows = DeadRows(MemoryStorage(clock: ManualClock()))
            await rows.record(at: noon)
        }
        #expect(metrics.gauges == [])
    }
}
