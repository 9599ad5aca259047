import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization

/// An origin that counts who is in it, and, closed, keeps everybody until the test lets them out.
///
/// State: who is inside, who came and when, whom it keeps; under a mutex.
final class CrowdedOrigin: PageSource {
    private struct State {
        var isOpen: Bool
        var inside = 0
        var most = 0
        var served: [Int] = []
        var moments: [Timestamp] = []
        var kept: [Int: CheckedContinuation<Void, any Error>] = [:]
        /// Let out before they were kept.
        var free: Set<Int> = []
        var failures: [Int: any Error] = [:]
    }

    private let clock: ManualClock
    private let state: Mutex<State>

    init(_ clock: ManualClock, isOpen: Bool = true) {
        self.clock = clock
        state = Mutex(State(isOpen: isOpen))
    }

    /// Odd on purpose: somebody who relays must not make them up.
    let access = PagingAccess.grid(size: 7)
    let largestOverlap: Int? = 3
    let probeSize: Int? = 2
    var usage: SourceUsage { SourceUsage(requests: served.count, bytesReceived: 11) }

    /// The most that were inside at a time.
    var most: Int { state.withLock { $0.most } }
    /// What was asked for, in the order in which it came.
    var served: [Int] { state.withLock { $0.served } }
    /// When it came.
    var moments: [Timestamp] { state.withLock { $0.moments } }

    func fail(_ offset: Int, with error: any Error) { state.withLock { $0.failures[offset] = error } }

    func letOut(_ offset: Int) {
        let request = state.withLock { state in
            let request = state.kept.removeValue(forKey: offset)
            if request == nil { state.free.insert(offset) }
            return request
        }
        request?.resume()
    }

    /// Lets everybody out, and keeps nobody from now on.
    func open() {
        let kept = state.withLock { state in
            defer { state.kept = [:] }
            state.isOpen = true
            return Array(state.kept.values)
        }
        for request in kept { request.resume() }
    }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard case .offset(let offset) = request.target else { return .pastEnd }
        let now = clock.now()
        state.withLock { state in
            state.inside += 1
            state.most = max(state.most, state.inside)
            state.served.append(offset)
            state.moments.append(now)
        }
        defer { state.withLock { $0.inside -= 1 } }
        try await keep(offset)
        if let failure = state.withLock({ $0.failures.removeValue(forKey: offset) }) { throw failure }
        return .pastEnd
    }

    private func keep(_ offset: Int) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let goesOn = state.withLock { state in
                    if state.isOpen || state.free.remove(offset) != nil || Task.isCancelled { return true }
                    state.kept[offset] = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.kept.removeValue(forKey: offset) }?.resume(throwing: CancellationError())
        }
    }
}

extension PageSource {
    func fetch(_ offset: Int) async throws { _ = try await fetch(PageRequest(.offset(offset))) }
}
