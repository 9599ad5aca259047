import PageModel

extension ListBelief {
    /// The work of a run, and how the run ended.
    struct RunEnding: Equatable {
        var fetching: FetchQueue.Ending
        var work: SyncOptions.Work
        /// Whether the requested part of the list is held, for work that does not refresh page one.
        var isPartDone = false
        var headFailure: FetchFailure?
        /// Whether the origin answered any request, possibly with an error status.
        var originAnswered = true
        /// How the origin lets its pages be requested.
        var access: PagingAccess
    }

    /// Returns the outcome of a run.
    /// - Parameters:
    ///   - state: the list in the storage after the run. `nil` if there is none.
    ///   - ending: how the run ended.
    func outcome(_ state: ListState?, _ ending: RunEnding) -> SyncReport.Outcome {
        switch ending.fetching {
        case .offline:
            // An origin that answered a request of this run is not offline. The ledger names the pages without an answer.
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

    /// Returns the outcome of a run that has left no request open.
    private func drained(_ state: ListState?, _ ending: RunEnding) -> SyncReport.Outcome {
        if let failure = ending.headFailure { return failure.isRetryable ? .incomplete : .failed }
        if !ending.work.refreshesHead { return ending.isPartDone ? .complete : .incomplete }
        if isUnproven || state?.isComplete == true && isPart(state, ending) { return .unproven }
        // The answer shows more items, and no request can fetch them.
        if ending.access == .single, state?.isComplete == false { return .unproven }
        // A refresh alone does not locate changes behind page one (R22).
        if ending.work == .refresh, access(ending.access) == .chain, state?.contradictsItself == true {
            return .incomplete
        }
        let hasFailures = state?.failures?.isEmpty != true && ending.work != .refresh
        if state?.isAtResultWindow == true, !hasFailures { return .limited }
        return isWhole(state, ending) && !hasFailures ? .complete : .incomplete
    }

    private func isWhole(_ state: ListState?, _ ending: RunEnding) -> Bool {
        state?.isComplete == true && !isUnproven && !isPart(state, ending)
    }

    /// Whether the returned items may be a part of the list, although no position up to its end is missing.
    private func isPart(_ state: ListState?, _ ending: RunEnding) -> Bool {
        isVoid(state) || overcount(state, ending.access) != nil
    }

    /// The end of a list by position and its exact total, if the total shows that a part of the list may be missing. It
    /// counts at least one more page, or no position behind page one has returned an item. A smaller difference is a
    /// wrong total (R24). Returns nil in every other case, and if the origin states that the list ends there.
    func overcount(_ state: ListState?, _ source: PagingAccess) -> EndBelief.Overcount? {
        guard access(source).supportsRandomAccess, let reached = state?.record.end, let total = end.counted,
            total > reached, !end.isStated(reached), total - reached >= sizes.size || reached <= pageOne.count
        else { return nil }
        return EndBelief.Overcount(reached: reached, total: total)
    }

    /// Whether the origin counts items and returned none. It hides them, or is failing.
    private func isVoid(_ state: ListState?) -> Bool {
        state?.holdings?.held.count == 0 && (state?.record.total.count ?? 0) > 0
    }
}
