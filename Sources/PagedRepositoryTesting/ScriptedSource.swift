public import PageModel
public import PagedRepository
import Synchronization

/// A `PageSource` with a script of expected requests.
///
/// A request that is not in the script fails permanently, and is recorded in `unscripted`. If `unscripted` and
/// `remaining` are empty at the end of a test, exactly the requests of the script were made.
public final class ScriptedSource: PageSource, PromptSource {
    /// One expected request, and its outcome.
    public struct Step: Hashable, Sendable {
        /// The expected target.
        public var target: PageRequest.Target
        /// The answer or the failure.
        public var outcome: Result<PageAnswer, FetchFailure>

        /// A step that returns this answer for this target.
        public init(_ target: PageRequest.Target, _ answer: PageAnswer) {
            self.target = target
            outcome = .success(answer)
        }

        /// A step that fails for this target.
        public init(_ target: PageRequest.Target, fails failure: FetchFailure) {
            self.target = target
            outcome = .failure(failure)
        }
    }

    /// The steps that can answer a request.
    public enum Order: Hashable, Sendable {
        /// Only the next step.
        case asWritten
        /// The first remaining step for the target, for code that requests several pages at once.
        case any
    }

    // Guarded by the mutex: the remaining steps, the requests and their cost. No foreign code runs while it is held.
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
    public let largestOverlap: Int?
    private let order: Order
    private let onUnscripted: @Sendable (PageRequest) -> Void
    private let state: Mutex<State>

    /// A source with this script.
    /// - Parameters:
    ///   - steps: the expected requests and their outcomes.
    ///   - access: the access that the source reports. Defaults to any offset.
    ///   - largestOverlap: the most known items that a request may fetch again with a page. Defaults to `nil`, which
    ///     leaves the number to `SyncOptions.overlap`.
    ///   - order: the steps that can answer a request. Defaults to only the next step.
    ///   - onUnscripted: called at once with a request that is not in the script, for example to record a test failure.
    public init(
        _ steps: [Step], access: PagingAccess = .offsets, largestOverlap: Int? = nil, order: Order = .asWritten,
        onUnscripted: @escaping @Sendable (PageRequest) -> Void = { _ in }
    ) {
        self.access = access
        self.largestOverlap = largestOverlap
        self.order = order
        self.onUnscripted = onUnscripted
        state = Mutex(State(remaining: steps))
    }

    /// The steps that have not answered a request yet.
    public var remaining: [Step] { state.withLock { $0.remaining } }

    /// The requests that were not in the script, in order.
    public var unscripted: [PageRequest] { state.withLock { $0.unscripted } }

    /// Every request, in order, scripted or not.
    public var requests: [PageRequest] { state.withLock { $0.requests } }

    public var usage: SourceUsage {
        state.withLock { SourceUsage(requests: $0.requests.count, bytesReceived: $0.bytes) }
    }

    /// Returns the scripted answer.
    /// - Throws: the `FetchFailure` of the step. For a request that is not in the script, a `FetchFailure` of class
    ///   `rejected`.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard let outcome = state.withLock({ $0.answer(request, order) }) else {
            onUnscripted(request)
            throw FetchFailure(.rejected, "this request is not in the script", isRetryable: false)
        }
        return try outcome.get()
    }
}
