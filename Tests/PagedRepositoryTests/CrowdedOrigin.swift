import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization

/// An origin that counts the requests in flight. While closed, it holds every request until the test releases it.
///
/// State: the requests in flight, the offsets and times of all requests, and the held requests, under a mutex.
final class CrowdedOrigin: PageSource {
    private struct State {
        var isOpen: Bool
        var inside = 0
        var most = 0
        var served: [Int] = []
        var moments: [Timestamp] = []
        var kept: [Int: CheckedContinuation<Void, any Error>] = [:]
        /// The offsets released before their request arrived.
        var free: Set<Int> = []
        var failures: [Int: any Error] = [:]
    }

    private let clock: ManualClock
    private let state: Mutex<State>

    init(_ clock: ManualClock, isOpen: Bool = true) {
        self.clock = clock
        state = Mutex(State(isOpen: isOpen))
    }

    /// Unusual values on purpose: a wrapper that forwards them cannot have invented them.
    let access = PagingAccess.grid(size: 7)
    let largestOverlap: Int? = 3
    let probeSize: Int? = 2
    var usage: SourceUsage { SourceUsage(requests: served.count, bytesReceived: 11) }

    /// The largest number of requests in flight at the same time.
    var most: Int { state.withLock { $0.most } }
    /// The requested offsets, in order of arrival.
    var served: [Int] { state.withLock { $0.served } }
    /// The arrival times of the requests.
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

    /// Releases every held request, and holds no more requests from now on.
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
