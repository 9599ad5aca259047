import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Waits for the lock of another process")
struct LockWaitsTests {
    private let folder = Folder()

    @Test("A wait ends when half a second has passed without a pause, and the next pause begins a new wait")
    func length() {
        let second: UInt64 = 1_000_000_000
        var times = WaitTimes()
        #expect(times.length(at: 9 * second) == nil)
        times.note(at: 10 * second, isFirst: true)
        times.note(at: 13 * second, isFirst: false)
        #expect(times.length(at: 13 * second) == .seconds(3))
        #expect(times.length(at: 13 * second + WaitTimes.longestPause - 1) != nil)
        #expect(times.length(at: 13 * second + WaitTimes.longestPause) == nil)
        times.note(at: 14 * second, isFirst: true)
        #expect(times.length(at: 14 * second) == .zero)
        // Another thread may have noted a pause since the caller read the clock.
        #expect(times.length(at: 14 * second - 1) == .zero)
        times.end()
        #expect(times.length(at: 14 * second + 1) == nil)
        times.note(at: 15 * second, isFirst: false)
        #expect(times.length(at: 15 * second) == .seconds(1), "a wait that goes on keeps its beginning")
    }

    @Test("Closing a store after reads does not wait for another process's write as long as a commit would (R42)")
    func closing() async throws {
        var options = SQLitePageStore.Options()
        options.busyBudget = .seconds(60)
        let store = try await SQLitePageStore.openForTest(at: folder.store, options: options)
        let query = try await store.register(QueryKey("list"))
        _ = try await store.commit(
            CommitPlan(
                query: query.id, version: query.version,
                edits: [.insertPage(PageWrite(offset: 0, content: items(0..<10), evidence: .verified))]))
        #expect(try await store.window(of: query.id, 0..<10)?.parts.count == 1)
        let other = try Connection(path: folder.store)
        try other.execute("BEGIN IMMEDIATE")
        let began = ContinuousClock.now
        await store.close()
        let took = began.duration(to: .now)
        // Closing waits, because it stores the times of the reads. The upper bound is generous, because hundreds of
        // other tests compete for the processor.
        #expect(took >= .milliseconds(100) && took < .seconds(45), "\(took)")
        try other.execute("ROLLBACK")
    }
}
