#if HTTP
import PageModel
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Deadlines of requests", .timeLimit(.minutes(1)))
struct RequestDeadlinesTests {
    private let deadlines = RequestDeadlines()

    private func limits(_ timeout: Duration) -> HTTPLimits {
        var limits = HTTPLimits()
        limits.requestTimeout = timeout
        return limits
    }

    /// Returns when the request was ended.
    private func isEnded(_ request: ClockedRequest) async {
        await withCheckedContinuation { continuation in _ = deadlines.enter(request) { continuation.resume() } }
    }

    @Test("R43: each of many ends when its time is over, with a verdict; those that left before are left alone")
    func many() async {
        let left = ClockedRequest(limits(.milliseconds(50)))
        let wasEnded = Mutex(false)
        deadlines.leave(deadlines.enter(left) { wasEnded.withLock { $0 = true } })
        let requests = (0..<20).map { _ in ClockedRequest(limits(.milliseconds(100))) }
        await withTaskGroup { group in
            for request in requests { group.addTask { await isEnded(request) } }
        }
        #expect(requests.allSatisfy { $0.verdict?.failureClass == .timeout })
        #expect(!wasEnded.withLock { $0 })
        #expect(left.verdict == nil)
    }

    @Test("one that comes after all others have gone is looked after, too")
    func again() async {
        for _ in 0..<3 {
            let request = ClockedRequest(limits(.milliseconds(20)))
            await isEnded(request)
            #expect(request.verdict?.failureClass == .timeout)
        }
    }
}
#endif
