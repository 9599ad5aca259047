import PageModel

/// The leases of one run (R30). They belong to requests in flight, to requests that have not started yet, and to
/// answers after which the run keeps the lease.
struct RunLeases {
    /// Spans that count as in flight, and whose leases were requested with a commit. Spans with a granted lease are
    /// fetched as soon as other answers arrive.
    struct Reserved {
        var targets: [FetchTarget] = []
        var granted: Set<Int> = []
    }

    /// The state at the time of a request.
    struct RequestState {
        /// The storage's time.
        var at: Timestamp
        /// The version of the list, if the answer belongs to a position in it (R4).
        var under: ListVersion?
        /// The number of totals that the run had received.
        var totals = 0
    }

    /// The owner of the leases. A lease that this run does not renew ends, even if the process of the run lives on.
    let owner: LeaseOwner
    /// The tokens of the leases that, as far as the run knows, have not ended, by position.
    private var tokens: [Int: LeaseToken] = [:]
    private(set) var reserved = Reserved()
    /// How far the storage's clock is ahead of this run's clock, as of the last grant.
    private(set) var skew = Duration.zero
    /// The outline around the requested positions, as of the run's last commit or lease.
    private(set) var outline: OutlineCache?
    /// Whether the run keeps the lease of page one during a reconciliation, so that no other owner requests page one.
    var keepsHead = false
    /// The position whose lease the run keeps after an answer without items, because the next request has the same
    /// position. Otherwise another owner could send the same requests in between.
    private(set) var keptPlace: Int?
    /// The state at the time of the request whose answer is being handled.
    var requestState: RequestState
    /// Whether a commit has ended the lease of the answer that is being handled.
    private(set) var hasEnded = false
    /// Whether the run has skipped a page because another owner is fetching it or has stored it.
    private(set) var isHeldElsewhere = false
    /// How often the run has waited for pages that other owners have in flight.
    private var waits = 0

    /// - Parameter now: the time of the run's clock.
    init(owner: LeaseOwner, now: Timestamp) {
        self.owner = owner
        requestState = RequestState(at: now)
    }

    subscript(place: Int) -> LeaseToken? { tokens[place] }
    var isEmpty: Bool { tokens.isEmpty }

    /// Returns the leases of this run that the storage does not hold any more.
    /// - Parameter held: the leases that the storage holds.
    func lost(besides held: Set<LeaseToken>) -> Set<LeaseToken> { Set(tokens.values).subtracting(held) }

    /// Whether the lease at this position outlives the answer that is being handled.
    func keeps(_ place: Int) -> Bool { place == 0 && keepsHead || place == keptPlace }

    /// Whether the run may send this request under a lease that it has kept.
    func isKept(for target: FetchTarget) -> Bool {
        target == .firstPage ? keepsHead : target.offset == keptPlace && tokens[target.offset] != nil
    }

    // MARK: Grants

    /// Records the storage's time, read at `moment` of this run's clock.
    mutating func synchronize(_ storageTime: Timestamp, at moment: Timestamp) { skew = storageTime - moment }

    /// Records the granted leases, and the outline that came with them.
    mutating func take(_ grant: LeaseGrant, _ request: LeaseRequest, at moment: Timestamp) {
        for lease in grant.leases { tokens[lease.offset] = lease.token }
        synchronize(grant.grantedAt, at: moment)
        // An earlier outline is older than these leases, so it must not decide which pages are skipped.
        outline = nil
        if let range = request.outlineRange, let list = grant.list { outline = OutlineCache(range: range, list: list) }
    }

    mutating func forgetOutline() { outline = nil }

    mutating func keep(_ place: Int) { keptPlace = place }

    // MARK: Ends

    mutating func drop(_ place: Int) { tokens[place] = nil }

    /// Begins the handling of an answer.
    mutating func beginAnswer(to request: RequestState) { (requestState, hasEnded) = (request, false) }

    /// Records that the lease of the answer that is being handled has ended.
    mutating func end() { hasEnded = true }

    /// Records that a plan with these ledger edits was committed.
    mutating func committed(_ ledger: [LedgerEdit]) {
        if !ledger.isEmpty { hasEnded = true }
        if ledger.contains(where: { $0.offset == 0 }) { keepsHead = false }
    }

    /// Records that an answer for this position has arrived, so that its lease is no longer kept.
    mutating func answered(_ place: Int) { if place == keptPlace { keptPlace = nil } }

    /// Returns the ledger edits that release all leases, and forgets them.
    mutating func releaseAll() -> [LedgerEdit] {
        defer { (tokens, keepsHead, keptPlace) = ([:], false, nil) }
        return tokens.sorted { $0.key < $1.key }.map { .released(offset: $0.key, lease: $0.value) }
    }

    /// Returns the edit that records a success, and ends the lease of the request.
    func succeeded(_ place: Int) -> LedgerEdit { .succeeded(offset: place, lease: tokens[place]) }

    /// Returns the edit that removes the record of a request, and ends the lease of the request.
    func deleted(_ place: Int) -> LedgerEdit { .deleted(offset: place, lease: tokens[place]) }

    // MARK: Requests that wait with a lease

    mutating func reserve(_ targets: [FetchTarget], _ granted: [Int]) {
        reserved.targets += targets
        reserved.granted.formUnion(granted)
    }

    /// Removes the first `count` reserved targets and their leases from `reserved`. Returns these targets, and the
    /// positions of all granted leases as they were before.
    mutating func startReserved(_ count: Int) -> Reserved {
        let targets = Array(reserved.targets.prefix(count))
        let granted = reserved.granted
        reserved.targets.removeFirst(count)
        reserved.granted.subtract(targets.map(\.offset))
        return Reserved(targets: targets, granted: granted)
    }

    /// Returns the reserved targets and the ledger edits that release their leases, and forgets both.
    mutating func releaseReserved() -> (targets: [FetchTarget], edits: [LedgerEdit]) {
        let given = reserved
        reserved = Reserved()
        let edits = given.granted.sorted().compactMap { place in
            tokens.removeValue(forKey: place).map { LedgerEdit.released(offset: place, lease: $0) }
        }
        return (given.targets, edits)
    }

    // MARK: Other owners

    mutating func skipHeldElsewhere() { isHeldElsewhere = true }

    /// Returns the pause before the run looks again for the pages that other owners have in flight. The pause starts at
    /// 50 ms and doubles after every eight waits, up to 5 s, because a lease may last for hours.
    mutating func pauseForOthers() -> Duration {
        isHeldElsewhere = false
        waits += 1
        return min(Duration.milliseconds(50) * (1 << min(waits / 8, 10)), .seconds(5))
    }
}
