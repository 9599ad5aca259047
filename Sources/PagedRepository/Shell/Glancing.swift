import PageModel

/// A refresh that finds nothing new goes by the list's state and page one, and reads no other page: it costs the same
/// however long the list is. Whatever else page one says takes a look at the whole list.
extension SyncRun {
    /// What is known of a list without its pages.
    struct Glance {
        var state: ListState
        /// Page one and its ledger entry, as they were when page one was leased; nil before.
        var head: ListOutline?

        /// What page one is asked for with. A page whose bytes are damaged is not "not modified".
        var validator: Validator? {
            state.pageOne?.identities == nil ? nil : head?.heldPages.first { $0.offset == 0 }?.validator
        }

        /// What a commit rests on that was made after this look alone: page one is what it was.
        var premise: PagePremise? {
            state.pageOne.map { PagePremise(offset: 0, fingerprint: $0.summary.fingerprint) }
        }
    }

    /// Whether this run needs no look at the pages before page one was asked for.
    func sufficesToBegin(_ state: ListState) -> Bool {
        guard !options.checksStoredBytes, state.holdings != nil, state.failures != nil else { return false }
        // Damage that no reading has met yet is met by a reading, or by a run that checks the bytes.
        switch options.work {
        case .refresh: return state.pageOne?.identities != nil
        case .everything: return state.pageOne?.identities != nil && state.isComplete == true
        case .sweep, .next, .positions: return false
        }
    }

    /// Begins with what the state says.
    func begin(with state: ListState) {
        glance = Glance(state: state)
        storedSince = state.readAt
        skew = state.readAt - clock.now()
        let isLoaded = state.record.validatedAt != nil
        progress(.opened(held: state.holdings?.held.count ?? 0, length: isLoaded ? state.length : nil))
        if isLoaded, state.isComplete == false { reconciliation = .resumed }
        failing = Set(state.failures?.map(\.offset) ?? [])
    }

    /// Page one is leased: what was known of the list still holds, or is forgotten.
    /// - Parameter list: page one, as of the lease.
    func lookAtHead(_ list: ListOutline?) {
        vicinity = nil
        glance?.head = list
        if list?.record.id != glance?.state.record.id || list?.contentVersion != glance?.state.record.contentVersion {
            glance = nil
        }
    }

    /// What is known of the list when page one is answered, once.
    private func takeGlance() -> (state: ListState, list: ListOutline, holdings: ListHoldings, premise: PagePremise)? {
        defer { glance = nil }
        guard let glance, !isSuspicious, let list = glance.head, !list.contradictsItself, let premise = glance.premise,
            let holdings = glance.state.holdings, holdings.olderPages == 0,
            list.ledger.allSatisfy({ $0.failure == nil })
        else { return nil }
        return (glance.state, list, holdings, premise)
    }

    /// R16: page one is "not modified".
    /// - Returns: whether that was all there was to do.
    func isConfirmedAtAGlance(_ total: Total, _ validator: Validator?) async throws(StorageError) -> Bool {
        guard let (state, list, holdings, premise) = takeGlance(), let head = state.pageOne?.summary,
            head.validator?.covers(total, known: list.record.total) ?? (total.count == list.record.total.count)
        else { return false }
        adopt(head, list)
        let outcome = try await apply(
            CommitPlan(
                query: list.record.id, version: list.record.version,
                edits: [.confirm(offset: 0, validator: validator), .validated],
                ledger: [.succeeded(offset: 0, lease: leases[0])], askedUnder: leases[0], extent: list.record.extent,
                premises: [premise]))
        guard case .committed = outcome else { return false }
        unchanged(list, holdings)
        return true
    }

    /// R16: page one was answered, and may be as it is held.
    /// - Returns: whether that was all there was to do.
    func isUnchangedAtAGlance(_ page: FetchedPage) async throws(StorageError) -> Bool {
        guard let (state, list, holdings, premise) = takeGlance(), let identities = state.pageOne?.identities else {
            return false
        }
        guard isOurs(list.record) else { return true }
        let page = page.trusted(against: list.record.total, heldEnd: holdings.end)
        let (end, record) = (end(of: page), list.record)
        let compared = min(page.content.count, holdings.held.headEnd)
        let goesOnNow = end == nil && record.end == page.content.count && (page.next != nil || page.hasMore == true)
        guard identities.count >= compared, !goesOnNow,
            HeadVerdict.decide(
                page, end: end,
                cached: HeadVerdict.Cached(
                    total: record.total, headEnd: holdings.held.headEnd, isEmpty: holdings.pages == 0,
                    readableEnd: holdings.end, headIdentities: Array(identities.prefix(compared))),
                isConfirmed: false) == .unchanged
        else { return false }
        isShrinkConfirmed = false
        guard try await confirm(page, list, restingOn: premise) else { return false }
        witness(isSame: !page.total.contradicts(pageOne.total))
        pageOne = (page.content.count, page.next, page.total)
        unchanged(list, holdings)
        return true
    }

    private func unchanged(_ list: ListOutline, _ holdings: ListHoldings) {
        pagesUnchanged += 1
        isConfirmedAtAGlance = true
        reconciled(.unchanged, held: holdings.held.count, length: list.record.end ?? list.record.total.count)
    }

    /// Whether nothing is missing and nothing is to be tidied up, after a page one that was confirmed at a glance.
    func hasNothingLeft() async throws(StorageError) -> Bool {
        guard options.work == .everything, isConfirmedAtAGlance, passCount == 0, !pass.mustRestart, !pass.rechecksEnd,
            pass.newItems == 0, pass.awaitsWitness == nil, tailWalk == nil, givenUp.isEmpty,
            let state = try await stateToReport(), state.isSettled, let holdings = state.holdings,
            holdings.pages < options.pagesPerQuery
        else { return false }
        settledState = state
        return true
    }

    /// What the list is now, where the run has to read no page for its report; nil where it has to.
    func stateToReport() async throws(StorageError) -> ListState? {
        guard isConfirmedAtAGlance, !options.checksStoredBytes, !options.reportsOutline, headFailure == nil,
            options.work == .refresh || options.work == .everything
        else { return nil }
        if let settledState { return settledState }
        guard let state = try await storage.state(of: key), state.record.id == query, state.holdings != nil,
            state.failures != nil
        else { return nil }
        return state
    }
}

extension Validator {
    /// R16: whether a "not modified" that comes with `total` confirms the total that is known.
    func covers(_ total: Total, known: Total) -> Bool {
        total == .unknown ? coversTotal || known == .unknown : total.count == known.count
    }
}

extension ListState {
    /// Whether the list is whole, its end and its total agree, and nothing of earlier states is left in the storage.
    var isSettled: Bool {
        guard isComplete == true, let holdings, holdings.olderPages == 0, let end = record.end, holdings.end == end,
            failures?.isEmpty == true, lastLedgerOffset ?? 0 <= end
        else { return false }
        return record.total == .unknown || record.total == .exact(end)
    }
}
