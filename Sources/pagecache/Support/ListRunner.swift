#if Tool
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

/// Runs work on stored lists, one list after the other.
///
/// The options do not say which origin a credential is for. So a credential is sent only for lists that were fetched
/// with the same credential (R45).
struct ListRunner {
    /// The report of one list.
    struct Result {
        var key: QueryKey
        var report: SyncReport
    }

    /// The work on one list.
    struct Job {
        var query: QueryRecord
        /// The runs, in order. Not empty.
        var runs: [SyncOptions.Work]
        /// Whether the runs skip pages that are not due (R33).
        var isDue = false

        init(query: QueryRecord, runs: [SyncOptions.Work]) { (self.query, self.runs) = (query, runs) }

        init(_ due: DueWork) { (query, runs, isDue) = (due.query, due.runs, true) }
    }

    let store: any ToolStore
    /// The caller's credential, and further headers.
    let credential: Credential
    let timeout: Duration?
    /// The settings for fetching. The work is set for each list.
    let options: SyncOptions
    /// Whether the caller named this one list. A given credential is then meant for the list, so a list that was
    /// fetched without one is refused. Otherwise such a list is fetched without the credential.
    var isNamed = false
    /// The overlap that the caller named. `nil` means the overlap in the stored settings of each list, or else the
    /// default.
    var overlap: Int?
    /// The file with the only certificate authorities to trust. `nil` means those of the environment.
    var cacert: String?
    /// The maximum rate of page requests to each origin. `nil` means no limit.
    var rate: RateArgument?

    /// The results of the lists that were synced.
    struct Finished {
        var results: [Result] = []
        /// The error of the store that ended the command after these results. `nil` means that no list is left.
        var failure: (any Error)?
    }

    /// Runs the work, and returns the results in order. Lists without a known URL have no result. After a cancellation,
    /// returns the results so far. Throws an error of the store only if no list has a result.
    func run(_ due: [Job]) async throws -> Finished {
        guard !due.isEmpty else { return Finished() }
        var limits = HTTPLimits()
        if let timeout { limits.requestTimeout = timeout }
        let transport = AsyncHTTPTransport(limits: limits, network: try SourceOptions.network(cacert: cacert))
        do {
            var finished = Finished()
            var gates: [String: OriginGate] = [:]
            for one in due where !Task.isCancelled {
                guard let url = ListRunner.url(of: one.query) else {
                    Terminal.standard.detail(
                        "\(one.query.key.shortID) is skipped: the store does not know its URL, so only the program that fetched it can update it"
                    )
                    continue
                }
                let gate = gate(of: url, among: &gates)
                do {
                    let report = try await run(one, url, transport, limits, gate)
                    finished.results.append(Result(key: one.query.key, report: report))
                } catch  where !finished.results.isEmpty {
                    finished.failure = error
                    break
                }
            }
            // Connections are closed before the process ends, after a failure as well.
            await transport.close()
            return finished
        } catch {
            await transport.close()
            throw error
        }
    }

    /// The URL of a list. Returns nil when the store does not know it: another program fetches the list, or a repair
    /// has lost the URL.
    static func url(of query: QueryRecord) -> String? {
        HTTPSource.url(inStored: query.source)
            ?? (HTTPSource.key(for: query.key.text) == nil ? nil : query.key.text)
    }

    /// Returns the gate that limits the requests to the origin of a URL. Lists of the same origin share the gate.
    /// Returns nil without a rate.
    private func gate(of url: String, among gates: inout [String: OriginGate]) -> OriginGate? {
        guard let rate else { return nil }
        // The scheme, an empty part, and the host with its port.
        let origin = url.split(separator: "/", omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
        let gate =
            gates[origin] ?? OriginGate(concurrency: options.concurrency, requestsPerSecond: rate.perSecond)
        gates[origin] = gate
        return gate
    }

    private func run(
        _ due: Job, _ url: String, _ transport: AsyncHTTPTransport, _ limits: HTTPLimits, _ gate: OriginGate?
    ) async throws -> SyncReport {
        var configuration = HTTPSourceConfiguration(url: url)
        configuration.limits = limits
        HTTPSource.restoreRequest(inStored: due.query.source, into: &configuration)
        let origin: HTTPSource
        do {
            origin = try source(of: due.query, configuration, transport)
            // A refused run does not read the stored list, and this user may read the store. So `refused` adds the
            // stored list to the report.
            try origin.authorize(due.query)
        } catch {
            return try await refused(error, due.query)
        }
        let progress = SyncProgress(
            terminal: .standard, name: isNamed ? nil : due.query.key.shortID, verifies: due.runs == [.sweep],
            verifiedBefore: due.query.sweep?.position ?? 0,
            requests: { origin.usage.requests })
        // The progress line is removed after a failure of the store as well.
        defer { progress.finish() }
        var whole: SyncReport?
        for work in due.runs where !Task.isCancelled {
            var options = due.isDue ? DueWork.options(for: work, from: options) : options
            options.work = work
            // A list that was purged since the command began stays purged.
            options.updatesOnly = true
            options.overlap = overlap ?? configuration.overlap ?? options.overlap
            let before = origin.usage
            let version = try await store.query(due.query.key)?.contentVersion
            let sync = ListSync(
                storage: store, source: gate?.limiting(origin) ?? origin, key: due.query.key, options: options,
                logger: ToolLog.logger("pagecache.sync"))
            let report = try await sync.run { progress.show($0) }
            var tally = RunTally(report, after: work)
            tally.requests -= before.requests
            tally.bytesReceived -= before.bytesReceived
            await store.count(tally, report, since: version)
            whole = whole.map { $0.joined(with: report) } ?? report
            // An origin that is offline or refuses page one is unlikely to answer the next run.
            if report.outcome == .offline || report.headFailure != nil { break }
        }
        for warning in whole?.warnings ?? [] {
            Terminal.standard.warn("\(due.query.key.shortID): \(SettingNames.options(in: warning))")
        }
        guard let whole else { return try await stored(due.query, .incomplete) }
        // The source refused the list, so the run did not read it.
        if let failure = whole.headFailure, whole.list == nil { return try await refused(failure, due.query) }
        let hasParts = due.runs.contains { if case .positions = $0 { true } else { false } }
        return hasParts ? whole.ofWholeList() : whole
    }

    private func source(
        of query: QueryRecord, _ configuration: HTTPSourceConfiguration, _ transport: AsyncHTTPTransport
    ) throws(FetchFailure) -> HTTPSource {
        var configuration = configuration
        let transport = LoggedTransport(transport, name: isNamed ? nil : query.key.shortID)
        let plain = try HTTPSource(configuration, stored: query.source, transport: transport)
        if !isNamed || credential.fields.isEmpty, !plain.belongsToAnother(stored: query.source) { return plain }
        configuration.headers = credential.fields
        configuration.secretHeaders.formUnion(credential.secretHeaders)
        let proven = try HTTPSource(configuration, stored: query.source, transport: transport)
        guard !proven.belongsToAnother(stored: query.source) else {
            throw FetchFailure(
                .forbidden,
                credential.fields.isEmpty
                    ? "this list needs the credential that it was fetched with; add --bearer-env or --header-env, or sync the URL that contains it"
                    : "the list was fetched with another credential",
                isRetryable: false)
        }
        return proven
    }

    /// The report of a list for which no request was sent.
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
}

extension SyncReport {
    /// The report with the outcome of the whole list, after runs on parts of it. A fetched part is not the whole list,
    /// and a later run may have filled the gaps that an earlier one reported. Outcomes other than `complete` and
    /// `incomplete` stay.
    func ofWholeList() -> SyncReport {
        guard outcome == .complete || outcome == .incomplete, !wasCancelled, pagesNotStored == 0,
            reconciliation != .staleTail, let list
        else { return self }
        var report = self
        if !list.failures.isEmpty {
            report.outcome = .incomplete
        } else if list.isComplete {
            report.outcome = .complete
        } else {
            report.outcome = list.isAtResultWindow ? .limited : .incomplete
        }
        return report
    }

    /// The joint report of this run and a later one of the same list and source.
    fileprivate func joined(with later: SyncReport) -> SyncReport {
        var sum = later
        let outcomes: [Outcome] = [.complete, .limited, .unproven, .incomplete, .offline, .failed, .purged, .damaged]
        sum.outcome = outcomes.last { $0 == outcome || $0 == later.outcome } ?? later.outcome
        if later.reconciliation == .none || reconciliation != .none { sum.reconciliation = reconciliation }
        sum.pagesFetched += pagesFetched
        sum.pagesUnchanged += pagesUnchanged
        sum.pagesNotStored += pagesNotStored
        // Pages that the first run fetched are among those that the second one kept. The smaller count avoids counting
        // them.
        sum.pagesKept = min(pagesKept, later.pagesKept)
        sum.driftsDetected += driftsDetected
        sum.warnings = warnings + later.warnings.filter { !warnings.contains($0) }
        sum.headFailure = headFailure ?? later.headFailure
        sum.unverified.merge(unverified) { later, _ in later }
        sum.duration += duration
        sum.wasCancelled = wasCancelled || later.wasCancelled
        return sum
    }
}
#endif
