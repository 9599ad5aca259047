import PageModel

extension ListBelief {
    /// The work of a run, and how the run ended.
    struct RunEnding: Equatable {
        var fetching: FetchQueue.Ending
        var work: SyncOptions.Work
        /// Whether the requested part of the list is held. Only for work that does not refresh page one.
        var isPartDone = false
        var headFailure: FetchFailure?
        /// Whether page one was validated since the run began.
        var isHeadNew = false
        /// Whether the origin answered any request, possibly with an error status.
        var originAnswered = true
        /// The way in which pages can be requested from the origin.
        var access: PagingAccess
    }

    /// Returns the outcome of a run.
    /// - Parameters:
    ///   - state: the list in the storage after the run. `nil` if there is none.
    ///   - ending: how the run ended.
    func outcome(_ state: ListState?, _ ending: RunEnding) -> SyncReport.Outcome {
        switch ending.fetching {
        case .offline:
            // An origin that answered a request of this run is not offline. The ledger names the pages without an
            // answer.
            return ending.originAnswered ? .incomplete : .offline
        case .limited:
            // The last answers may have shown a change, so that page one would be requested once more.
            return isWhole(state, ending) && drift.isNone && ending.headFailure == nil ? .complete : .limited
        case .retryLater, .stopped:
            return .incomplete
        case .drained:
            return drained(state, ending)
        }
    }

    /// Returns the outcome of a run that has no request left to send.
    private func drained(_ state: ListState?, _ ending: RunEnding) -> SyncReport.Outcome {
        if let failure = ending.headFailure { return failure.isRetryable ? .incomplete : .failed }
        if !ending.work.refreshesHead {
            if ending.isPartDone { return .complete }
            // No request can fetch more items.
            let isOnePage = ending.access == .single || state?.record.isOnePage == true
            if case .positions = ending.work, isOnePage, state?.isComplete == false { return .unproven }
            return .incomplete
        }
        if isUnproven || state?.isComplete == true && isPart(state, ending) { return .unproven }
        // The list has more items than page one, and no request can fetch them.
        if ending.access == .single, state?.isComplete == false || pageOne.isPart(of: state) { return .unproven }
        // A refresh alone does not locate changes after page one (R22).
        if ending.work == .refresh, access(ending.access) == .chain, state?.contradictsItself == true {
            return .incomplete
        }
        // If page one was validated since this run began, a failure of page one in the ledger comes from another run.
        // It does not count, because its retry fetches page one again.
        let hasFailures =
            ending.work != .refresh && state?.failures?.contains { $0.offset > 0 || !ending.isHeadNew } != false
        if state?.isAtResultWindow == true, !hasFailures { return .limited }
        return isWhole(state, ending) && !hasFailures ? .complete : .incomplete
    }

    private func isWhole(_ state: ListState?, _ ending: RunEnding) -> Bool {
        state?.isComplete == true && !isUnproven && !isPart(state, ending)
    }

    /// Whether the returned items may be only a part of the list, although no position up to its end is missing.
    private func isPart(_ state: ListState?, _ ending: RunEnding) -> Bool {
        isVoid(state) || overcount(state, ending.access) != nil
            || state?.record.end.map { areTotals(allAbove: $0) } ?? false
    }

    /// Returns the end and the exact total of a list by position, if the total shows that a part of the list may be
    /// missing. Otherwise returns nil.
    ///
    /// The total must count at least one page more, or no position after page one has returned an item. A smaller
    /// difference shows a wrong total (R24). So does a difference of at most two pages, if answers show the end and no
    /// full page states it. If the origin hides items, its total may count them. The total must then count more than
    /// two pages more, and more than twice the returned items.
    func overcount(_ state: ListState?, _ source: PagingAccess) -> EndBelief.Overcount? {
        guard source.supportsRandomAccess, let reached = state?.record.end, let total = end.counted, total > reached
        else { return nil }
        let excess = total - reached
        let isFull = end.isStatedByFullPage(reached)
        let isShort =
            access(source).supportsRandomAccess
            ? (isFull || !end.isStated(reached) || excess > 2 * sizes.size)
                && (reached <= pageOne.count
                    || excess >= sizes.size && (isFull || !end.isShown(reached, total: total, size: sizes.size)))
            : excess > max(2 * sizes.size, reached)
        return isShort ? EndBelief.Overcount(reached: reached, total: total) : nil
    }

    /// Whether the origin counts items and returned none. The origin then hides the items, or is failing.
    private func isVoid(_ state: ListState?) -> Bool {
        state?.holdings?.held.count == 0 && (state?.record.total.count ?? 0) > 0
    }
}
