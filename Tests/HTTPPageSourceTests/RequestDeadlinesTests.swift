#if HTTP
import PageModel
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Deadlines of requests", .timeLimit(.minutes(20)))
struct RequestDeadlinesTests {
    private let deadlines = RequestDeadlines()

    private func limits(_ timeout: Duration) -> HTTPLimits {
        var limits = HTTPLimits()
        limits.requestTimeout = timeout
        return limits
    }

    /// Returns when the deadline has ended the request.
    private func isEnded(_ request: ClockedRequest) async {
        await withCheckedContinuation { continuation in _ = deadlines.enter(request) { continuation.resume() } }
    }

    @Test(
        "Each of many requests ends at its deadline with a timeout, and requests that left earlier are unaffected (R43)"
    )
    func many() async {
        let left = ClockedRequest(limits(.milliseconds(50)))
        let wasEnded = Mutex(false)
        deadlines.leave(deadlines.enter(left) { wasEnded.withLock { $0 = true } })
        let requests = (0..<20).map { _ in ClockedRequest(limits(.milliseconds(100))) }
        await withTaskGroup { group in
            for request in requests { group.addTask { await isEnded(request) } }
        }
        #expect(requests.allSatisfy { $0.failure?.failureClass == .timeout })
        #expect(!wasEnded.withLock { $0 })
        #expect(left.failure == nil)
    }

    @Test("A request that enters after all others have left also ends at its deadline")
    func again() async {
        for _ in 0..<3 {
            let request = ClockedRequest(limits(.milliseconds(20)))
            await isEnded(request)
            #expect(request.failure?.failureClass == .timeout)
        }
    }
}
#endif
