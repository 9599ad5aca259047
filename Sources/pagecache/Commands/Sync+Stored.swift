#if Tool
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

// Work that starts from the store alone, without an answer of the origin.
extension Sync {
    /// `--due`: the work that is due by the ledger and by the age of pinned lists.
    func syncDue() async throws {
        try await common.withStore(.mustExist, checkingPlace: true) { store in
            var options = options
            options.patience = wait?.duration ?? .zero
            let due = try await DueWork.all(
                in: store, freshness: FreshnessPolicy(operatorSays: staleAfter), retry: options.retry)
            let runner = ListRunner(
                store: store, credential: try source.credentials.read(), timeout: source.timeout?.duration,
                options: options)
            let results = try await runner.run(due)
            if results.isEmpty { Terminal.standard.note("nothing is due") }
            try SyncResults(results: results, common: common).render()
        }
    }

    /// The remaining work for a list when page one may be as old as `age` (R13, `refreshIfStale`). Returns nil when
    /// there is none.
    func work(for list: ListOutline, by age: DurationArgument, now: Timestamp) -> SyncOptions.Work? {
        guard list.freshness(FreshnessPolicy(operatorSays: age), now: now) == .fresh else { return options.work }
        return refresh || list.isComplete ? nil : .positions(0..<Int.max)
    }

    /// `--offline`: the stored list, without a request.
    func tellOffline(_ target: String, _ key: QueryKey, _ known: QueryRecord?, _ store: DeferredStore) async throws {
        guard let known, let list = try await store.outline(of: known.id), list.record.validatedAt != nil else {
            throw ToolFailure(
                .unreachable, "nothing_cached", "nothing is cached for \(target)",
                hint: "sync it once without --offline")
        }
        try await tell(list, target, key, store)
    }

    /// Renders the result of a run that had no request to send.
    func tell(_ list: ListOutline, _ target: String, _ key: QueryKey, _ store: DeferredStore) async throws {
        if explain { tell(HTTPPageSource.explanation(inStored: list.record.source)) }
        var report = SyncReport(stored: list)
        if try await !store.damage(of: list.record.id, thoroughly: true).isNone { report.outcome = .damaged }
        try SyncRendering(report: report, key: key, url: target, common: common).render()
    }
}
#endif
