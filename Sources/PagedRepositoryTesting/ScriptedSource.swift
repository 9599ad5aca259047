public import PageModel
public import PagedRepository
import Synchronization

/// A `PageSource` that knows what it will be asked, and fails on everything else.
///
/// What is not in the script is answered with a failure that no retry helps, and remembered in `unscripted`: a test
/// that asserts that it is empty, and `remaining` too, has proved exactly which requests were made.
public final class ScriptedSource: PageSource {
    /// One expected request, and what comes of it.
    public struct Step: Hashable, Sendable {
        /// What is asked for.
        public var target: PageRequest.Target
        /// What comes of it.
        public var outcome: Result<PageAnswer, FetchFailure>

        /// This target is asked for, and this is the answer.
        public init(_ target: PageRequest.Target, _ answer: PageAnswer) {
            self.target = target
            outcome = .success(answer)
        }

        /// This target is asked for, and the fetch fails.
        public init(_ target: PageRequest.Target, fails failure: FetchFailure) {
            self.target = target
            outcome = .failure(failure)
        }
    }

    /// Which steps a request may take.
    public enum Order: Hashable, Sendable {
        /// Only the next one.
        case asWritten
        /// The first that is left for its target: for code that asks for several pages at once.
        case any
    }

    // Guarded by the mutex: the steps not yet taken, what was asked, and what it cost. Nothing is called while it is
    // held.
    private struct State {
        var remaining: [Step]
        var requests: [PageRequest] = []
        var unscripted: [PageRequest] = []
        var bytes = 0

        mutating func answer(_ request: PageRequest, _ order: Order) -> Result<PageAnswer, FetchFailure>? {
            requests.append(request)
            let candidates = order == .any ? remaining[...] : remaining.prefix(1)
            guard let index = candidates.firstIndex(where: { $0.target == request.target }) else {
                unscripted.append(request)
                return nil
            }
            let outcome = remaining.remove(at: index).outcome
            if case .success(.page(let page)) = outcome { bytes += page.content.bytes.count }
            return outcome
        }
    }

    public let access: PagingAccess
    private let order: Order
    private let onUnscripted: @Sendable (PageRequest) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - steps: what it will be asked, and what comes of each.
    ///   - access: how the origin says that it can be asked. Default: by any offset.
    ///   - order: which steps a request may take. Default: only the next one.
    ///   - onUnscripted: called at once with a request that is not in the script; the place to record a test's failure.
    public init(
        _ steps: [Step], access: PagingAccess = .offsets, order: Order = .asWritten,
        onUnscripted: @escaping @Sendable (PageRequest) -> Void = { _ in }
    ) {
        self.access = access
        self.order = order
        self.onUnscripted = onUnscripted
        state = Mutex(State(remaining: steps))
    }

    /// The steps that nobody has asked for yet.
    public var remaining: [Step] { state.withLock { $0.remaining } }

    /// The requests that were not in the script, in order.
    public var unscripted: [PageRequest] { state.withLock { $0.unscripted } }

    /// Every request, in order, scripted or not.
    public var requests: [PageRequest] { state.withLock { $0.requests } }

    public var usage: SourceUsage {
        state.withLock { SourceUsage(requests: $0.requests.count, bytesReceived: $0.bytes) }
    }

    /// Answers as the script says.
    /// - Throws: the `FetchFailure` of the step; one of class `refused` for a request that is not in the script.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard let outcome = state.withLock({ $0.answer(request, order) }) else {
            onUnscripted(request)
            throw FetchFailure(.refused, "this request is not in the script", isRetryable: false)
        }
        return try outcome.get()
    }
}
