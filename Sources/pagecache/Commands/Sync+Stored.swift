#if Tool
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

// Work that is chosen from the store alone, before any request.
extension Sync {
    /// Runs `--due`, `--all` or `--stale`: syncs several lists of the store.
    func syncStored() async throws {
        try await common.withStore(.writing, checkingPlace: true) { store in
            var options = options
            if work.due { options.retryWaitBudget = fetch.wait?.duration ?? .zero }
            let damaged = try await store.storedQueries().damagedCount
            let jobs = try await jobs(in: store, options)
            let runner = ListRunner(
                store: store, credential: try source.credentials.read(), timeout: source.timeout?.duration,
                options: options, overlap: fetch.overlap, cacert: source.cacert, rate: fetch.rate)
            let finished = try await runner.run(jobs)
            if finished.results.isEmpty, damaged == 0 { Terminal.standard.note(try await nothing(in: store)) }
            var all = SyncResults(results: finished.results, common: common)
            all.damaged = damaged
            all.lost = jobs.map(\.query).filter { $0.isDescriptionLost && ListRunner.url(of: $0) == nil }.map(\.key)
            if let failure = finished.failure {
                all.write()
                throw failure
            }
            try store.checkPlace(while: "it was open")
            try all.render()
        }
    }

    private func jobs(in store: any ToolStore, _ options: SyncOptions) async throws -> [ListRunner.Job] {
        let policy = FreshnessPolicy(operatorSays: work.staleAfter)
        if work.due {
            return try await DueWork.all(in: store, freshness: policy, retry: options.retry).map(ListRunner.Job.init)
        }
        let queries = work.all ? try await store.records() : try await stale(in: store, policy)
        return queries.map { ListRunner.Job(query: $0, runs: [options.work]) }
    }

    /// The queries that are stale by `policy`, were never fetched, or hold none of their items. Reads the outline only
    /// of a list whose record is fresh.
    private func stale(in store: any ToolStore, _ policy: FreshnessPolicy) async throws -> [QueryRecord] {
        let now = try await store.now()
        var stale: [QueryRecord] = []
        for record in try await store.records() {
            if policy.freshness(of: record, now: now) == .fresh {
                guard record.end ?? record.total.count ?? 0 > 0,
                    try await store.outline(of: record.id)?.holdsNothing == true
                else { continue }
            }
            stale.append(record)
        }
        return stale
    }

    /// The message for a command that found no work.
    private func nothing(in store: any ToolStore) async throws -> String {
        if work.all { return "the store has no query that 'sync' can fetch" }
        if work.stale { return "no query is stale" }
        let policy = FreshnessPolicy(operatorSays: work.staleAfter)
        let stale = try await stale(in: store, policy).count { !$0.isPinned }
        let due = try await store.due(within: .seconds(Int64.max), limit: 1)
        let retry = due.fetches.first?.entry.nextAttemptAt.flatMap { $0 > due.readAt ? $0 : nil }
        let next = retry.map { "; the next retry is due at \(TimeText.rfc3339($0))" } ?? ""
        guard stale > 0 else { return "nothing is due\(next)" }
        let queries = stale == 1 ? "1 stale query is" : "\(SizeText.count(stale)) stale queries are"
        return
            "nothing is due (\(queries) not pinned; 'pagecache sync --stale' refreshes \(stale == 1 ? "it" : "them"), 'pagecache pin' keeps a query fresh)\(next)"
    }

    /// The remaining work for a list when page one may be as old as `age` (R13, `refreshIfStale`). Returns nil when no
    /// work remains.
    func rest(of list: ListOutline, by age: DurationArgument, now: Timestamp) -> SyncOptions.Work? {
        guard list.freshness(FreshnessPolicy(operatorSays: age), now: now) == .fresh else { return options.work }
        return work.refresh || list.isComplete || list.isAtResultWindow ? nil : .positions(0..<Int.max)
    }

    /// `--offline`: the stored list, without a request.
    func renderOffline(_ target: String, _ key: QueryKey, _ known: QueryRecord?, _ store: DeferredStore) async throws {
        guard let known, let list = try await store.outline(of: known.id), list.record.validatedAt != nil else {
            throw ToolFailure(
                .unreachable, "nothing_cached", "nothing is cached for \(target)",
                hint: "sync it once without --offline")
        }
        try await renderStored(list, target, key, store)
    }

    /// Renders the result of a run that had no request to send.
    func renderStored(_ list: ListOutline, _ target: String, _ key: QueryKey, _ store: DeferredStore) async throws {
        if rare.explain { printDecisions(HTTPSource.explanation(inStored: list.record.source)) }
        var report = SyncReport(stored: list)
        if try await !store.damage(of: list.record.id, thoroughly: true).isNone { report.outcome = .damaged }
        try SyncRendering(report: report, key: key, url: target, common: common).render()
    }
}
#endif
