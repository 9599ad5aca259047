import PageModel

/// The ledger of a list in memory: the fetch records of its pages (R26), with their leases (R30).
struct MemoryLedger: Sendable {
    /// A lease, which keeps other owners from fetching a page.
    struct Lease: Sendable {
        var token: LeaseToken
        var owner: String
        var end: Uptime
    }

    private struct Record: Sendable {
        var entry: LedgerEntry
        /// The lease. `nil` unless the page is in flight.
        var lease: Lease?

        mutating func endLease() {
            entry.state = .pending
            lease = nil
        }
    }

    private var records: [Int: Record] = [:]

    /// Returns the entries by offset, ascending. The ends of leases are converted to wall times with the clocks of
    /// `moment`.
    func entries(at moment: StorageMoment) -> [LedgerEntry] {
        records.values.map { record in
            var entry = record.entry
            entry.leaseOwner = record.lease?.owner
            entry.leaseToken = record.lease?.token
            entry.leaseExpiresAt = record.lease.map { moment.wallTime(of: $0.end) }
            return entry
        }.sorted { $0.offset < $1.offset }
    }

    var offsets: some Sequence<Int> { records.keys }

    // MARK: Edits

    /// The result of a call's edits.
    struct Applied {
        /// The changed offsets to publish, each once.
        var changedOffsets: [Int] = []
        /// The tokens whose lease had been lost.
        var lost: Set<LeaseToken> = []
    }

    /// Returns the tokens in these edits that records hold now.
    func held(among edits: [LedgerEdit]) -> Set<LeaseToken> {
        Set(edits.compactMap(\.lease)).filter { place(of: $0) != nil }
    }

    /// Returns the time at which the lease was granted. Returns nil when the lease was lost.
    func grantTime(of token: LeaseToken) -> Timestamp? { place(of: token).flatMap { records[$0]?.entry.lastAttemptAt } }

    /// Applies the edits in order.
    /// - Parameter held: tokens that records held before the list edits of the same commit moved them. Defaults to
    ///   none.
    mutating func apply(_ edits: [LedgerEdit], held: Set<LeaseToken> = [], at moment: StorageMoment) -> Applied {
        var applied = Applied()
        var held = held
        for edit in edits {
            guard let offset = place(for: edit, &held, &applied.lost, at: moment) else { continue }
            apply(edit, at: offset, moment.now)
            applied.changedOffsets.append(offset)
        }
        applied.changedOffsets = applied.changedOffsets.eachOnce
        return applied
    }

    /// Returns the offset at which an edit applies. Returns nil when the edit changes no record (see `LedgerEdit`).
    private mutating func place(
        for edit: LedgerEdit, _ held: inout Set<LeaseToken>, _ lost: inout Set<LeaseToken>, at moment: StorageMoment
    ) -> Int? {
        if case .expedited(let offset) = edit { return offset }
        guard let token = edit.lease else { return counts(edit.offset, at: moment) ? nil : edit.offset }
        let place = place(of: token)
        guard held.contains(token) else {
            if place == nil { lost.insert(token) } else { held.insert(token) }
            return place
        }
        // An earlier edit ended the token, or a list edit of the same commit moved its row. The edit applies at its own
        // offset.
        if let place, place != edit.offset { records[place] = nil }
        return counts(edit.offset, at: moment) && place != edit.offset ? nil : edit.offset
    }

    private mutating func apply(_ edit: LedgerEdit, at offset: Int, _ now: Timestamp) {
        let known = records[offset]?.entry
        switch edit {
        case .succeeded:
            // All failure details are removed. The number of attempts stays until the next attempt.
            records[offset] = Record(
                entry: LedgerEntry(
                    offset: offset, state: .ok, attempts: known?.attempts ?? 1,
                    lastAttemptAt: known?.lastAttemptAt ?? now))
        case .failed(_, var failure, let pause, _):
            let deadline = failure.retryAfter.map { now + $0 }
            // A duration would be wrong at a later time, so the record keeps the deadline.
            failure.retryAfter = nil
            records[offset] = Record(
                entry: LedgerEntry(
                    offset: offset, state: failure.isRetryable ? .failedRetryable : .failedPermanent,
                    attempts: known?.attempts ?? 1, firstFailureAt: known?.firstFailureAt ?? now,
                    lastAttemptAt: known?.lastAttemptAt ?? now, nextAttemptAt: pause.map { now + $0 }, failure: failure,
                    retryAfterUntil: deadline))
        case .released:
            guard var record = records[offset], record.lease != nil else { return }
            record.endLease()
            record.entry.attempts = max(record.entry.attempts - 1, 0)
            record.entry.nextAttemptAt = record.entry.failure?.isRetryable == true ? now : nil
            records[offset] = record
        case .expedited:
            guard known?.state.isFailure == true else { return }
            records[offset]?.entry.nextAttemptAt = now
            records[offset]?.entry.retryAfterUntil = nil
        case .deleted:
            records[offset] = nil
        }
    }

    // MARK: Leases

    private func place(of token: LeaseToken) -> Int? { records.first { $0.value.lease?.token == token }?.key }

    /// Whether the page is in flight under a lease that still counts (R30). Every owner in this ledger counts as alive.
    private func counts(_ offset: Int, at moment: StorageMoment) -> Bool {
        records[offset]?.lease.map { !moment.isOver($0.end) } ?? false
    }

    /// Puts the page in flight under this lease. Returns false when another lease of the page still counts.
    /// - Parameter retryAt: the time at which a failed page is due again if this attempt does not end, because the
    ///   attempt may crash the process (R31).
    mutating func claim(_ offset: Int, _ lease: Lease, retryAt: Timestamp, at moment: StorageMoment) -> Bool {
        guard !counts(offset, at: moment) else { return false }
        var entry = records[offset]?.entry ?? LedgerEntry(offset: offset, state: .pending)
        entry.attempts = entry.state == .ok ? 1 : entry.attempts + 1
        entry.state = .inFlight
        entry.lastAttemptAt = moment.now
        entry.nextAttemptAt = entry.failure?.isRetryable == true ? retryAt : nil
        records[offset] = Record(entry: entry, lease: lease)
        return true
    }

    /// Renews the owner's leases for `duration` from now on.
    /// - Returns: the tokens of these leases.
    mutating func renew(by owner: String, for duration: Duration, at moment: StorageMoment) -> [LeaseToken] {
        records.keys.compactMap { offset in
            guard var record = records[offset], let lease = record.lease, lease.owner == owner else { return nil }
            record.lease?.end = moment.uptime + duration
            if record.entry.nextAttemptAt != nil { record.entry.nextAttemptAt = moment.now + duration }
            records[offset] = record
            return lease.token
        }
    }

    // MARK: Moving and removing

    /// Removes failures at positions that have been fetched since.
    mutating func dropFailures(in range: Range<Int>) {
        records = records.filter { !(range.contains($0.key) && $0.value.entry.state.isFailure) }
    }

    /// Removes the record at an offset where no page starts any more, if it is the record of a success.
    mutating func forgetSuccess(at offset: Int) {
        if records[offset]?.entry.state == .ok { records[offset] = nil }
    }

    /// Removes the records of positions that no longer exist, with their leases. The record of page one belongs to a
    /// request and not to an item, and stays while it is in flight.
    mutating func takeOut(where isGone: (Int) -> Bool) {
        records = records.filter { !isGone($0.key) || $0.key == 0 && $0.value.lease != nil }
    }

    /// Moves records and their leases with the positions (R4, R30). The record of page one stays in place.
    mutating func shift(_ moves: [Rearrangement.Move]) {
        var shifted: [Int: Record] = [:]
        for var record in records.values {
            let distance = moves.first { $0.range.contains(record.entry.offset) }?.distance ?? 0
            let isPageOne = record.entry.offset == 0
            if !isPageOne { record.entry.offset += distance }
            // A record that would move onto the record of page one is dropped.
            if isPageOne || shifted[record.entry.offset] == nil { shifted[record.entry.offset] = record }
        }
        records = shifted
    }
}
