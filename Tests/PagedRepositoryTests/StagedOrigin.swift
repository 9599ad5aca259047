import PageModel
import PagedRepository
import Synchronization

struct Row: Codable, Identifiable, Hashable, Sendable {
    var id: String
    var number: Int
}

/// An origin of numbered rows under the control of a test, which can hold, fail and inspect its requests.
///
/// State: the rows, the requests, and the held requests, under a mutex.
final class StagedOrigin: PageSource {
    private struct State {
        var rows: [Row]
        var access: PagingAccess
        var total: (@Sendable (Int) -> ListTotal)?
        var requests: [PageRequest] = []
        var isHolding = false
        var held: [Int: CheckedContinuation<Void, any Error>] = [:]
        var failures: [FetchFailure?] = []
        var headFailure: FetchFailure?
        var ignoresCancellation = false
    }

    private let state: Mutex<State>
    private let pageSize: Int
    private let codec = JSONItemCodec<Row>()

    init(
        _ count: Int = 48, access: PagingAccess = .offsets, size: Int = 10,
        total: (@Sendable (Int) -> ListTotal)? = { .exact($0) }
    ) {
        pageSize = size
        state = Mutex(State(rows: (0..<count).map(StagedOrigin.row), access: access, total: total))
    }

    static func row(_ number: Int) -> Row { Row(id: "r\(number)", number: number) }

    var access: PagingAccess { state.withLock { $0.access } }
    var usage: SourceUsage { SourceUsage(requests: state.withLock { $0.requests.count }) }
    var requests: [PageRequest] { state.withLock { $0.requests } }
    var rows: [Row] {
        get { state.withLock { $0.rows } }
        set { state.withLock { $0.rows = newValue } }
    }

    /// Makes all later requests wait for `release()`.
    func hold() { state.withLock { $0.isHolding = true } }

    func release() {
        let held = state.withLock { state in
            defer { state.held = [:] }
            state.isHolding = false
            return Array(state.held.values)
        }
        for request in held { request.resume() }
    }

    /// Sets the results of the next requests, in order. `nil` means an answer.
    func fail(_ failures: FetchFailure?...) { state.withLock { $0.failures += failures } }

    /// Makes each later request of page one fail.
    func failPageOne(_ failure: FetchFailure) { state.withLock { $0.headFailure = failure } }

    /// Makes the origin answer even after the caller was cancelled.
    func ignoreCancellation() { state.withLock { $0.ignoresCancellation = true } }

    /// Waits until the origin has received the given number of requests.
    func reached(_ count: Int) async { while requests.count < count { await Task.yield() } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let (number, isHeld, ignores) = state.withLock { state in
            state.requests.append(request)
            return (state.requests.count, state.isHolding, state.ignoresCancellation)
        }
        if isHeld { try await wait(number, ignores) }
        return try state.withLock { state in
            if let failure = state.headFailure, request.target == .first { throw failure }
            if !state.failures.isEmpty, let failure = state.failures.removeFirst() { throw failure }
            return try answer(request, state)
        }
    }

    private func wait(_ number: Int, _ ignoresCancellation: Bool) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let goesOn = state.withLock { state in
                    guard state.isHolding else { return true }
                    state.held[number] = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            guard !ignoresCancellation else { return }
            state.withLock { $0.held.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }

    private func answer(_ request: PageRequest, _ state: State) throws -> PageAnswer {
        let start: Int
        switch request.target {
        case .first: start = 0
        case .offset(let offset): start = min(offset, state.rows.count)
        case .cursor(let cursor): start = Int(cursor.text) ?? 0
        }
        let range = min(start, state.rows.count)..<min(start + (request.size ?? pageSize), state.rows.count)
        let items = try state.rows[range].map { RawItem(payload: try codec.encode($0), id: $0.id) }
        let goesOn = range.upperBound < state.rows.count
        return .page(
            FetchedPage(
                content: PageContent(items), total: state.total?(state.rows.count) ?? .unknown,
                next: state.access == .chain && goesOn ? PageCursor("\(range.upperBound)") : nil))
    }
}
