import PageModel

/// The kind of work that a run does between two requests for page one. A case holds the state that is valid only during
/// that work.
enum RunPhase: Equatable {
    /// Missing positions are requested, or a chain is walked. The work ends when no position is missing, or the list
    /// has moved.
    case loading
    /// Every page is verified by position (R23). The work ends after the last page, or when the list has moved.
    case sweeping(PositionSweep)
    /// Every page of a chain is verified. The work ends with the walk.
    /// - Parameter isAtEnd: whether the walk has reached the end of the chain.
    case sweepingChain(isAtEnd: Bool)
    /// One held page is verified (R54). The work ends after that page, or when the page differs.
    case rechecking(Recheck)

    /// The check of one held page.
    struct Recheck: Equatable {
        var range: Range<Int>
        /// The position of the recorded failure, if the last request for the page failed. If the origin then rejects
        /// the cursor, no new walk starts. `nil` if the last request did not fail.
        var failure: Int?
        /// Whether only a part of the page is verified.
        var isPart = false
        /// The requests by position. Unused in a chain, whose pages are requested by cursor.
        var sweep = PositionSweep()

        var isRetry: Bool { failure != nil }
    }

    /// The check of one held page. `nil` in any other phase.
    var recheck: Recheck? { if case .rechecking(let recheck) = self { recheck } else { nil } }

    /// The progress of verification by position. In a phase without such verification, the value is empty, and setting
    /// it has no effect.
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

    /// Records that the walk has reached the end of the chain. Has an effect only during the sweep of a chain.
    mutating func reachedEnd() { if isChainSweep { self = .sweepingChain(isAtEnd: true) } }
}

/// The pages that a run verifies by position, in order (R23).
struct PositionSweep: Equatable {
    /// Answers that wait for earlier ones, by the position of the request.
    var answers: [Int: FetchedPage] = [:]
    /// All positions before this one have been verified.
    var position = 0
    /// The first position that this run has verified.
    var start = 0
    var isDone = false
    /// The version of the list when this work began, or after its last commit.
    var version: ListVersion?

    /// Records a commit of this run. A commit to any other version than `version` shows that another writer has changed
    /// the list, and is not recorded.
    mutating func committed(_ before: ListVersion, _ after: ListVersion) { if version == before { version = after } }
}
