import PageModel

/// The kind of work that a run does between two requests for page one. A case carries the state that is valid only in
/// that work.
enum RunPhase: Equatable {
    /// Missing positions are requested, or a chain is walked. Ends when no position is missing, or the list has moved.
    case loading
    /// Every page is verified by position (R23). Ends behind the last page, or when the list has moved.
    case sweeping(PositionSweep)
    /// Every page of a chain is verified. Ends when the walk is over.
    /// - Parameter isAtEnd: whether the walk has reached the end of the chain.
    case sweepingChain(isAtEnd: Bool)
    /// One held page is verified (R54). Ends behind that page, or when it differs.
    case rechecking(Recheck)

    /// The check of one held page.
    struct Recheck: Equatable {
        var range: Range<Int>
        /// The position of the failure, if the last request for the page failed. A cursor that the origin refuses again
        /// then starts no new walk.
        var failure: Int?
        /// Whether only some positions of the page are verified.
        var isPart = false
        /// The requests by position. Unused in a chain, which is requested by cursor.
        var sweep = PositionSweep()

        var isRetry: Bool { failure != nil }
    }

    /// The held page that is verified.
    var recheck: Recheck? { if case .rechecking(let recheck) = self { recheck } else { nil } }

    /// The pages that are verified by position. Has no effect outside of such work.
    var sweep: PositionSweep {
        get {
            switch self {
            case .sweeping(let sweep): sweep
            case .rechecking(let recheck): recheck.sweep
            case .loading, .sweepingChain: PositionSweep()
            }
        }
        set {
            switch self {
            case .sweeping: self = .sweeping(newValue)
            case .rechecking(var recheck):
                recheck.sweep = newValue
                self = .rechecking(recheck)
            case .loading, .sweepingChain: break
            }
        }
    }

    /// Whether a chain is walked to verify every page.
    var isChainSweep: Bool { if case .sweepingChain = self { true } else { false } }

    /// Records that a walk has reached the end of the chain.
    mutating func reachedEnd() { if isChainSweep { self = .sweepingChain(isAtEnd: true) } }
}

/// The pages that a run verifies by position, in order (R23).
struct PositionSweep: Equatable {
    /// Answers that wait for earlier ones, by position.
    var answers: [Int: FetchedPage] = [:]
    /// All positions before this one have been verified.
    var position = 0
    /// The first position that this run has verified.
    var start = 0
    var isDone = false
    /// The version of the list after the last commit of this work.
    var version: ListVersion?

    /// Records a commit of this run.
    mutating func committed(_ before: ListVersion, _ after: ListVersion) { if version == before { version = after } }
}
