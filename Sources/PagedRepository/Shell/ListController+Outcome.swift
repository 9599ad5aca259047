import PageModel

// Derives the outcome or the failure of a load from the report of its run.
extension ListController {
    /// The positions at which `items` ends, because the codec stops at items that do not decode. `nil` means that
    /// `items` does not end at such an item.
    var stop: Range<Int>? {
        context.builder.stops ? current.undecodable.first { $0.lowerBound == current.itemsEnd } : nil
    }

    /// The failure of a load after an item that does not decode, when the codec stops there.
    var stopFailure: ListFailure? {
        stop.map {
            ListFailure(
                $0.lowerBound == 0 ? .refresh : .next,
                FetchFailure(
                    .undecodable, "the item at position \($0.lowerBound) does not decode, and the list stops there",
                    isRetryable: false))
        }
    }

    func ending(
        of work: ListMachine.Work, _ report: SyncReport, _ before: ListSnapshot<Value>
    ) -> Result<LoadOutcome, any Error> {
        let now = current
        // The list was removed during the work, by a reset or by another process. The fetched items belong to no list.
        if report.outcome == .purged { return .success(.superseded) }
        if let failure = report.headFailure {
            return .failure(
                ListFailure(
                    before.isLoaded ? .refresh : .first, failure, nextAttemptAt: own(report.nextAttemptAt, report),
                    cause: source.cause))
        }
        switch work {
        case .refresh:
            // A caller that joined cancelled work has received no result.
            guard !Task.isCancelled || report.pagesFetched + report.pagesUnchanged > 0 else {
                return .success(.superseded)
            }
            if now.isVoid, let counted = now.total.count {
                return .failure(ListFailure(before.isLoaded ? .refresh : .first, .withoutItems(counted: counted)))
            }
            let isChanged = report.reconciliation.isChange || report.keptChanging || hasReplacedUnstored
            return .success(outcome(from: before, to: now) ?? (isChanged && before.isLoaded ? .changed : .upToDate))
        case .next, .all:
            let isServed = report.pagesNotStored > 0 && !now.isStored
            let isComplete =
                report.outcome == .complete || report.outcome == .damaged && report.state?.isComplete == true
                || isMiscounted(report) && !now.hasMore
            if let stopFailure { return .failure(stopFailure) }
            if now.isVoid, let counted = now.total.count {
                return .failure(ListFailure(now.isLoaded ? .refresh : .first, .withoutItems(counted: counted)))
            }
            if isDeadEnd(work, report) {
                if report.keptChanging { return .failure(ListFailure(.next, .keptChanging)) }
                // The ledger names the position from which the origin repeats itself.
                let loop = report.failures.compactMap(\.failure).first { $0.failureClass == .loop }
                let why = report.warnings.last ?? "the origin's answers contradict each other"
                return .failure(ListFailure(.next, loop ?? FetchFailure(.loop, why, isRetryable: false)))
            }
            if let damaged = now.damageAtEnd, work == .all || now.headEnd == before.headEnd, !Task.isCancelled {
                return .failure(ListFailure(.next, .damaged(at: damaged.lowerBound)))
            }
            let isEnough = now.headEnd > before.headEnd && !isShort(work, report)
            if isComplete || isServed || isEnough || now.isAtItemLimit {
                return .success(outcome(from: before, to: now) ?? (now.hasMore ? .upToDate : .endReached))
            }
            // A cancelled load reports no failure, not even one of an earlier run. A call that still waits receives a
            // failure instead of an empty result.
            guard !Task.isCancelled else { return .success(.superseded) }
            guard let entry = report.failures.decisive(within: report.duration), let failure = entry.failure else {
                guard report.state != nil else { return .success(.superseded) }
                // A limit that the program has set does not mean that the origin contradicts itself.
                if report.limit == .pages { return .failure(ListFailure(.next, .pageBudgetReached)) }
                if report.keptChanging { return .failure(ListFailure(.next, .keptChanging)) }
                let why =
                    report.state?.isAtResultWindow == true
                    ? "the origin counts more items than it returns"
                    : "the origin's answers contradict each other; no further items were received"
                return .failure(
                    ListFailure(
                        .next, FetchFailure(.unconfirmed, report.warnings.last ?? why, isRetryable: true)))
            }
            return .failure(
                ListFailure(.next, failure, nextAttemptAt: own(entry.nextAttemptAt, report), cause: source.cause))
        }
    }

    /// Converts a time of the storage into a time of this list's clock (R52).
    func own(_ moment: Timestamp?, _ report: SyncReport) -> Timestamp? {
        report.time(moment, by: context.clock)
    }

    /// Whether a load of the whole list has stopped before the end of the list, because answers contradicted each
    /// other. Further loads would stop in the same way (R24).
    private func isDeadEnd(_ work: ListMachine.Work, _ report: SyncReport) -> Bool {
        work == .all && report.outcome == .unproven && current.hasMore && current.isStored && !current.isAtItemLimit
            && !Task.isCancelled
    }

    /// Whether every item that the origin returns is held, and only the origin's total makes the list unproven.
    private func isMiscounted(_ report: SyncReport) -> Bool {
        report.outcome == .unproven && !report.keptChanging && report.state?.isComplete == true
    }

    /// Whether a load of the whole list has left out items that could have been shown.
    private func isShort(_ work: ListMachine.Work, _ report: SyncReport) -> Bool {
        guard work == .all, current.hasMore, current.isStored, !current.isAtItemLimit, !Task.isCancelled else {
            return false
        }
        return report.limit != .pages
    }

    /// Returns what the work has added to the shown list. Returns nil when it has added nothing.
    func outcome(from before: ListSnapshot<Value>, to now: ListSnapshot<Value>) -> LoadOutcome? {
        let newItems = held(now) - held(before)
        if newItems > 0 { return .loaded(newItems) }
        let undecodable = now.undecodable.positions - before.undecodable.positions
        if undecodable > 0 { return .undecodable(undecodable) }
        return now.isAtItemLimit ? .itemLimitReached : nil
    }

    private func held(_ snapshot: ListSnapshot<Value>) -> Int {
        let end = context.builder.stops ? snapshot.undecodable.first?.lowerBound ?? .max : .max
        return snapshot.segments.reduce(0) { $0 + ($1.isHeld && $1.offset < end ? $1.items.count : 0) }
    }
}

extension [LedgerEntry] {
    /// Returns the failure that a call reports. The latest attempt decides, because other pages may have failed in
    /// earlier runs. Several pages are in flight at once, so of the failures of the run with the same class and status,
    /// the one at the first position is reported.
    /// - Parameter duration: the duration of the run.
    func decisive(within duration: Duration) -> LedgerEntry? {
        func attempt(_ entry: LedgerEntry) -> Timestamp { entry.lastAttemptAt ?? Timestamp(milliseconds: 0) }
        guard let latest = self.max(by: { attempt($0) < attempt($1) }) else { return nil }
        return filter { entry in
            entry.failure?.failureClass == latest.failure?.failureClass
                && entry.failure?.httpStatus == latest.failure?.httpStatus
                && attempt(latest) - attempt(entry) <= Swift.max(duration, .zero)
        }.min { $0.offset < $1.offset }
    }
}

extension LoadPolicy {
    /// Whether the policy accepts a cached list as the result (R13).
    var takesCached: Bool {
        switch self {
        case .cacheOnly, .refreshIfStale: true
        case .cacheThenRefresh, .originFirst: false
        }
    }
}

extension ListSnapshot {
    /// Returns the outcome if the cached list is an acceptable result (R13). Returns nil when a request to the origin
    /// is needed.
    func outcome(under policy: LoadPolicy) -> LoadOutcome? {
        switch policy {
        case .cacheOnly: isLoaded && !hasMore ? .endReached : .cached
        case .refreshIfStale: freshness == .fresh && unusable.isEmpty && (!items.isEmpty || !hasMore) ? .cached : nil
        case .cacheThenRefresh, .originFirst: nil
        }
    }
}

extension SyncReport {
    /// Returns a time of the storage's clock as a time of this clock (R52).
    fileprivate func time(_ moment: Timestamp?, by clock: any SyncClock) -> Timestamp? {
        guard let moment, let readAt = state?.readAt else { return moment }
        return clock.now() + (moment - readAt)
    }

    /// The time of the next attempt, as a time of this clock (R52). Returns nil if no retry is scheduled.
    func nextAttemptAt(by clock: any SyncClock) -> Timestamp? { time(nextAttemptAt, by: clock) }
}
