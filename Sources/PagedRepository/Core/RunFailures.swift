import PageModel

/// The failures of a run, by the position of the request.
struct RunFailures: Equatable {
    /// The failure of page one, or of a probe or a sweep request without which the refresh fails. `nil` once page one
    /// was answered.
    var head: FetchFailure?
    /// Positions that this run does not request again, because they failed permanently.
    var abandoned: Set<Int> = []
    /// Failures of the present sweep, by the first position that the request was meant to verify.
    var unverified: [Int: FetchFailure] = [:]
    /// The number of failed attempts in this run for each position, since it was last answered.
    private var attempts: [Int: Int] = [:]
    /// Positions that had a failure in the ledger when this run began, and that have not been answered since.
    private var earlier: Set<Int> = []

    /// Restores the failures that the ledger had when the run began.
    mutating func restore(_ failures: [LedgerEntry]) { earlier = Set(failures.map(\.offset)) }

    mutating func answered(_ place: Int) {
        attempts[place] = nil
        earlier.remove(place)
    }

    /// Records that a sweep has verified these positions.
    mutating func verified(_ range: Range<Int>) { unverified = unverified.filter { !range.contains($0.key) } }

    /// Counts a failed attempt, and returns the number of attempts so far.
    /// - Parameter known: the number of attempts in the ledger, including this one.
    mutating func failed(_ place: Int, known: Int) -> Int {
        let attempt = max((attempts[place] ?? 0) + 1, known)
        attempts[place] = attempt
        return attempt
    }

    /// The number of failed attempts for this position since it was last answered.
    func attempts(at place: Int) -> Int { attempts[place] ?? 0 }

    /// Whether a request for this position failed in this run and was not answered since.
    func hasFailed(_ place: Int) -> Bool { attempts[place] != nil }

    /// Whether a request for this position repeats one that failed in this run or in an earlier one.
    func isRetry(_ place: Int) -> Bool { attempts[place] != nil || earlier.contains(place) }
}
