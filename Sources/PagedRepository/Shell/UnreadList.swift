import PageModel

/// A refresh that finds no change uses the list's state and page one, and reads no other page. The cost does not depend
/// on the length of the list. If page one shows any change, the whole list is read.
extension SyncRun {
    /// How much of the list a run has read.
    enum ReadExtent {
        /// The run has read the whole list, or has to read it.
        case whole
        /// The run knows the list's state, and page one is not answered yet.
        case before(UnreadList)
        /// The last commit of the run confirmed page one from the list's state alone.
        case confirmed
        /// The work is done, as the list's state shows: no position is missing, or the next page is stored. The report
        /// needs no read of the pages.
        case settled(ListState)

        /// The facts about the list without its pages, until page one is answered.
        var unread: UnreadList? { if case .before(let unread) = self { unread } else { nil } }

        /// Whether the work is done, as the list's state alone shows.
        var isSettled: Bool { if case .settled = self { true } else { false } }

        /// Whether the last commit of the run confirmed page one from the list's state alone.
        var isConfirmed: Bool {
            switch self {
            case .confirmed, .settled: true
            case .whole, .before: false
            }
        }

        /// Records a commit, which may have changed more than page one.
        mutating func committed() {
            switch self {
            case .confirmed, .settled: self = .whole
            case .whole, .before: break
            }
        }
    }

    /// The facts that a run knows about a list whose pages it has not read.
    struct UnreadList {
        var state: ListState
        /// Page one and its ledger entry, as of the lease of page one. `nil` before the lease.
        var head: ListOutline?

        /// The validator for the request for page one. Returns nil when the stored page cannot be read, so that the
        /// origin sends its items again.
        var validator: Validator? {
            state.pageOne?.identities == nil ? nil : head?.heldPages.first { $0.offset == 0 }?.validator
        }

        /// The precondition of a commit that is based on this view alone: page one is unchanged. Returns nil when no
        /// page one is held.
        var precondition: PagePrecondition? {
            state.pageOne.map { PagePrecondition(offset: 0, fingerprint: $0.summary.fingerprint) }
        }
    }

    /// Whether the run can request page one without reading any pages.
    func canBeginWithoutPages(_ state: ListState) -> Bool {
        guard !options.checksStoredBytes, state.holdings != nil, state.failures != nil else { return false }
        // A later read, or a run that checks the stored bytes, finds damage that is not known yet.
        switch options.work {
        case .refresh: return state.pageOne?.identities != nil
        case .everything: return state.pageOne?.identities != nil && state.isComplete == true
        case .sweep, .next, .positions: return false
        }
    }

    /// Begins the run with the facts in the state.
    func begin(with state: ListState) {
        readExtent = .before(UnreadList(state: state))
        start.storedSince = state.readAt
        belief.hidden.restore(state.pageOne.map { [$0.summary] } ?? [])
        leases.synchronize(state.readAt, at: clock.now())
        let isLoaded = state.record.validatedAt != nil
        telemetry.progress(.opened(held: state.holdings?.held.count ?? 0, length: isLoaded ? state.length : nil))
        if isLoaded, state.isComplete == false { counts.reconciliation = .resumed }
        failures.restore(state.failures ?? [])
        belief.end.restore(state.failures ?? [])
    }

    /// Remembers page one as of its lease. Discards the known facts if the list has changed since they were read, so
    /// that the run reads the list.
    /// - Parameter list: page one, as of the lease. `nil` means that the list is no longer stored.
    func lookAtHead(_ list: ListOutline?) {
        leases.forgetOutline()
        guard var unread = readExtent.unread else { return }
        unread.head = list
        let isSame =
            list?.record.id == unread.state.record.id
            && list?.contentVersion == unread.state.record.contentVersion
        readExtent = isSame ? .before(unread) : .whole
    }

    /// Returns the known facts about the list, after page one was answered. Only the first call returns them. Returns
    /// nil when the facts do not suffice, so that the list must be read.
    private func takeUnread() -> (
        state: ListState, list: ListOutline, holdings: ListHoldings, precondition: PagePrecondition
    )? {
        guard let unread = readExtent.unread else { return nil }
        readExtent = .whole
        guard !belief.drift.isSuspicious,
            !belief.hidden.isHiding || !belief.hidden.walk.countsOtherwise(than: unread.state.record.total),
            let list = unread.head, !list.contradictsItself, let precondition = unread.precondition,
            let holdings = unread.state.holdings, holdings.olderPages == 0,
            list.ledger.allSatisfy({ $0.failure == nil })
        else { return nil }
        return (unread.state, list, holdings, precondition)
    }

    /// Confirms page one after a "not modified" answer (R16).
    /// - Returns: whether the answer is fully handled.
    func isConfirmedWithoutReading(_ total: ListTotal, _ validator: Validator?) async throws(StorageError) -> Bool {
        guard let (state, list, holdings, precondition) = takeUnread(), let head = state.pageOne?.summary,
            head.validator?.covers(total, known: list.record.total) ?? (total.count == list.record.total.count),
            !mayBeMiscounted(list.record)
        else { return false }
        adopt(head, list)
        let outcome = try await apply(
            CommitPlan(
                query: list.record.id, version: list.record.version,
                edits: [.touchPage(offset: 0, validator: validator), .validated],
                ledger: [leases.succeeded(0)], requestLease: leases[0], expectedLength: list.record.extent,
                preconditions: [precondition]))
        guard case .committed = outcome else { return false }
        if let identities = state.pageOne?.identities { belief.pageOne.confirm(identities) }
        lookAtEnd(after: list.record.total)
        unchanged(list, holdings)
        return true
    }

    /// Confirms page one if the answer equals the held page (R16).
    /// - Returns: whether the answer is fully handled.
    func isUnchangedWithoutReading(_ page: FetchedPage) async throws(StorageError) -> Bool {
        guard let (state, list, holdings, precondition) = takeUnread(), let identities = state.pageOne?.identities
        else {
            return false
        }
        guard isOurs(list.record) else { return true }
        let page = page.trusted(against: list.record.total, heldEnd: holdings.end)
        let (end, record) = (end(of: page), list.record)
        let compared = min(page.content.count, holdings.held.headEnd)
        let goesOnNow = end == nil && record.end == page.content.count && (page.next != nil || page.hasMore == true)
        guard identities.count >= compared, !goesOnNow,
            FirstPageDiff.decide(
                page, end: end,
                cached: FirstPageDiff.Cached(
                    total: record.total, headEnd: holdings.held.headEnd, isEmpty: holdings.pages == 0,
                    readableEnd: holdings.end, headIdentities: Array(identities.prefix(compared))),
                isConfirmed: false) == .unchanged
        else { return false }
        belief.drift.isShrinkConfirmed = false
        guard try await confirm(page, list, restingOn: precondition) else { return false }
        witnessArrived(isSame: !page.total.contradicts(belief.pageOne.total))
        _ = belief.pageOne.recordStored(page)
        unchanged(list, holdings)
        return true
    }

    /// Plans the check of the end after a 304. Without an exact total, an unchanged page one says nothing about the end
    /// of the list (R24).
    func lookAtEnd(after known: ListTotal) { if known.exactCount == nil { pass.check.isDue = true } }

    private func unchanged(_ list: ListOutline, _ holdings: ListHoldings) {
        counts.pagesUnchanged += 1
        belief.drift.forgetEvidence()
        readExtent = .confirmed
        reconciled(.unchanged, held: holdings.held.count, length: list.record.end ?? list.record.total.count)
    }

    /// Whether no position is missing and no clean-up is needed, after page one was confirmed without reading other
    /// pages.
    func hasNothingLeft() async throws(StorageError) -> Bool {
        guard options.work == .everything, readExtent.isConfirmed, passes.count == 0, !pass.mustRestart,
            !pass.check.isDue,
            pass.newItems == 0, !pass.witness.isAwaited, pass.walk.mode == nil, failures.abandoned.isEmpty,
            let state = try await stateToReport(), state.isSettled, let holdings = state.holdings,
            holdings.pages < options.pagesPerQuery
        else { return false }
        readExtent = .settled(state)
        return true
    }

    /// Returns the current state of the list. Returns nil when the report requires a read of the pages.
    func stateToReport() async throws(StorageError) -> ListState? {
        guard readExtent.isConfirmed, !options.checksStoredBytes, !options.reportsOutline, failures.head == nil,
            options.work == .refresh || options.work == .everything || options.work == .next
        else { return nil }
        if case .settled(let state) = readExtent { return state }
        guard let state = try await storage.state(of: key), state.record.id == query, state.holdings != nil,
            state.failures != nil
        else { return nil }
        return state
    }
}

extension Validator {
    /// Whether a "not modified" answer with `total` confirms the known total (R16).
    func covers(_ total: ListTotal, known: ListTotal) -> Bool {
        total == .unknown ? coversTotal || known == .unknown : total.count == known.count
    }
}

extension ListState {
    /// Whether the list is complete, its end and its total agree, and the storage holds no remains of earlier states.
    var isSettled: Bool {
        guard isComplete == true, let holdings, holdings.olderPages == 0, let end = record.end, holdings.end == end,
            failures?.isEmpty == true, lastLedgerOffset ?? 0 <= end
        else { return false }
        return record.total == .unknown || record.total == .exact(end)
    }
}
