#if Tool
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

/// Runs what is to be done for lists that the store knows, one list after the other.
///
/// R45: nobody said which origin a credential is for. It is sent for the lists that were fetched with it, and for no
/// others.
struct ListRunner {
    /// What came of one list.
    struct Result {
        var key: QueryKey
        var report: SyncReport
    }

    let store: PageStore
    /// What the caller proves itself with, and what else is to be sent along.
    let credential: Credential
    let timeout: Duration?
    /// How fetching goes; what is to be done is set for each list, and what is not due is left alone (R33).
    let options: SyncOptions
    /// Whether the caller named the one list, so that what is to be sent is meant for it.
    var isNamed = false

    /// The results, in order; of lists that other programs fill, there are none. Cancelled, those that there are by
    /// then.
    func run(_ due: [DueWork]) async throws -> [Result] {
        guard !due.isEmpty else { return [] }
        var limits = HTTPLimits()
        if let timeout { limits.requestTimeout = timeout }
        let transport = AsyncHTTPTransport(limits: limits)
        do {
            var results: [Result] = []
            for one in due where !Task.isCancelled {
                guard let url = ListRunner.url(of: one.query) else {
                    Terminal.standard.detail(
                        "\(one.query.key.shortID) is left to the program that fills it: how it is asked is not in the store"
                    )
                    continue
                }
                results.append(Result(key: one.query.key, report: try await run(one, url, transport, limits)))
            }
            // Connections are closed before the process ends, whatever happened.
            await transport.close()
            return results
        } catch {
            await transport.close()
            throw error
        }
    }

    /// Where a list is asked for; nil for what does not come over HTTP.
    static func url(of query: QueryRecord) -> String? {
        HTTPPageSource.url(inStored: query.source)
            ?? (HTTPPageSource.key(for: query.key.text) == nil ? nil : query.key.text)
    }

    private func run(
        _ due: DueWork, _ url: String, _ transport: AsyncHTTPTransport, _ limits: HTTPLimits
    ) async throws -> SyncReport {
        let origin: HTTPPageSource
        do {
            origin = try source(of: due.query, url, transport, limits)
        } catch {
            return try await refused(error, due.query)
        }
        let progress = SyncProgress(terminal: .standard) { origin.usage.requests }
        // Also when the store fails: no line is left behind.
        defer { progress.finish() }
        var whole: SyncReport?
        for work in due.runs where !Task.isCancelled {
            let options = DueWork.options(for: work, from: options)
            let before = origin.usage
            let sync = ListSync(
                storage: store, source: origin, key: due.query.key, options: options,
                logger: ToolLog.logger("pagecache.sync"))
            let report = try await sync.run { progress.show($0) }
            await count(report, since: before, after: work)
            whole = whole.map { $0.joined(with: report) } ?? report
            // What is away, or refuses, will not do better with the next page.
            if report.outcome == .offline || report.headFailure != nil { break }
        }
        for warning in whole?.warnings ?? [] { Terminal.standard.warn("\(due.query.key.shortID): \(warning)") }
        if let whole { return whole }
        return try await stored(due.query, .incomplete)
    }

    private func source(
        of query: QueryRecord, _ url: String, _ transport: AsyncHTTPTransport, _ limits: HTTPLimits
    ) throws(FetchFailure) -> HTTPPageSource {
        var configuration = HTTPSourceConfiguration(url: url)
        configuration.limits = limits
        let plain = try HTTPPageSource(configuration, stored: query.source, transport: transport)
        if !isNamed || credential.fields.isEmpty, !plain.belongsToAnother(stored: query.source) { return plain }
        configuration.headers = credential.fields
        configuration.secretHeaders.formUnion(credential.secretHeaders)
        let proven = try HTTPPageSource(configuration, stored: query.source, transport: transport)
        guard !proven.belongsToAnother(stored: query.source) else {
            throw FetchFailure(
                .forbidden,
                credential.fields.isEmpty
                    ? "it was fetched with a credential, and none was given" : "it was fetched with another credential",
                isRetryable: false)
        }
        return proven
    }

    /// Nobody was asked.
    private func refused(_ failure: FetchFailure, _ query: QueryRecord) async throws -> SyncReport {
        var report = try await stored(query, .failed)
        report.headFailure = failure
        return report
    }

    private func stored(_ query: QueryRecord, _ outcome: SyncReport.Outcome) async throws -> SyncReport {
        let list =
            try await store.outline(of: query.id)
            ?? ListOutline(record: query, pages: [], ledger: [], readAt: SystemClock().now())
        var report = SyncReport(stored: list)
        report.outcome = outcome
        return report
    }

    /// What is only counted must not fail a run.
    private func count(_ report: SyncReport, since before: SourceUsage, after work: SyncOptions.Work) async {
        guard let query = report.list?.record.id else { return }
        var tally = RunTally(report, after: work)
        tally.requests -= before.requests
        tally.bytesReceived -= before.bytesReceived
        do throws(StorageError) {
            try await store.add(tally, to: query)
        } catch {
            Terminal.standard.detail("the run was not counted: \(error.message)")
        }
    }
}

extension SyncReport {
    /// What this run and a later one of the same list and source did together.
    fileprivate func joined(with later: SyncReport) -> SyncReport {
        var sum = later
        let outcomes: [Outcome] = [.complete, .limited, .unproven, .incomplete, .offline, .failed, .purged, .damaged]
        sum.outcome = outcomes.last { $0 == outcome || $0 == later.outcome } ?? later.outcome
        if later.reconciliation == .none || reconciliation != .none { sum.reconciliation = reconciliation }
        sum.pagesFetched += pagesFetched
        sum.pagesUnchanged += pagesUnchanged
        // What the first of them brought, the second only left alone.
        sum.pagesKept = min(pagesKept, later.pagesKept)
        sum.driftsSeen += driftsSeen
        sum.warnings = warnings + later.warnings.filter { !warnings.contains($0) }
        sum.headFailure = headFailure ?? later.headFailure
        sum.duration += duration
        return sum
    }
}
#endif
