#if Tool
import HTTPPageSource
import PageModel
import PagedRepository

/// The result of a synchronisation for people or as the documented JSON object, and its exit code.
struct SyncRendering {
    let report: SyncReport
    let key: QueryKey
    let url: String
    let common: CommonOptions
    /// The bytes of the stored items. `nil` where they were not read.
    var storedBytes: Int?

    /// Writes the result. Throws the error that ends the tool when the status is not 0.
    func render() throws {
        if let failure { throw failure }
        write(.standard)
        if let savings, Terminal.standard.outputIsTerminal { Terminal.standard.note(savings.text) }
        if let complaint { Terminal.standard.complain(complaint) }
        if status != .done { throw ToolProcess.Ended(status: status) }
    }

    /// The exit status for this result.
    var status: ExitStatus {
        if let failure { return failure.status }
        return switch report.outcome {
        case _ where report.wasCancelled: .incomplete
        case .complete, .limited: .done
        case .incomplete, .unproven, .offline, .purged: .incomplete
        case .failed, .damaged: .unusableData
        }
    }

    /// The error in place of a result, when no items are cached or page one cannot be used.
    var failure: ToolFailure? {
        switch report.outcome {
        case .complete, .limited, .unproven, .damaged, .purged: return nil
        case .incomplete where report.wasCancelled && isCached: return nil
        case .incomplete where isCached, .offline where isCached, .failed where isCached && report.headFailure == nil:
            return nil
        case .incomplete, .offline, .failed:
            var failure = report.headFailure ?? FetchFailure(.transport, "no answer", isRetryable: true)
            if report.headFailure == nil, report.pagesNotStored > 0 {
                failure = FetchFailure(
                    .rejected, "the origin forbids storing its answers (no-store)", isRetryable: false)
            }
            if report.outcome == .failed, failure.isRetryable { failure.isRetryable = false }
            return ToolFailure(
                fetching: Printable.text(shownURL), failure, cached: isCached && held > 0 ? key.shortID : nil)
        }
    }

    /// The message on standard error about an incomplete result.
    var complaint: String? {
        if report.wasCancelled { return "interrupted: \(progress); run the command again to continue" }
        switch report.outcome {
        case .complete, .limited, .failed:
            return nil
        case .damaged:
            let gaps = report.list?.gaps ?? []
            return "the store is damaged\(gaps.isEmpty ? "" : ": \(missing)"); 'pagecache verify --repair' repairs it"
        case .purged:
            let name = HTTPSource.key(for: key.text) == nil ? " and --key \(key.text)" : ""
            return "purged: the list was removed while it was synced; sync it again with its URL\(name)"
        case .incomplete:
            return "incomplete: \(missing)"
        case .unproven:
            return "unproven: \(unprovenReason); \(SizeText.count(held, "item is", "items are")) stored"
        case .offline:
            let reason =
                report.headFailure?.shownMessage ?? report.list?.failures.first?.failure?.shownMessage ?? "no answer"
            guard held > 0 else {
                return "offline: \(reason); \(report.list?.record.end == 0 ? "the list is empty" : "no item is cached")"
            }
            let items = SizeText.count(held, "cached item", "cached items")
            return "offline: \(reason); 'pagecache show \(key.shortID)' shows the \(items)"
        }
    }

    /// The state of the list after an interrupted run.
    private var progress: String {
        guard let list = report.list else { return "nothing is stored" }
        if let sweep = list.record.sweep {
            let pages = list.heldPages
            let verified = pages.count { $0.range.upperBound <= sweep.position }
            return "\(SizeText.count(verified)) of \(SizeText.count(pages.count, "page", "pages")) verified"
        }
        let total = list.record.end ?? list.record.total.count
        let of = total.map { " of \(SizeText.count($0))" } ?? ""
        return "\(SizeText.count(held))\(of) \(total ?? held == 1 ? "item is" : "items are") stored"
    }

    /// The comparison with a client that has no store. `nil` when the run saved no request.
    var savings: Savings? { Savings(report, storedBytes: storedBytes) }

    private var unprovenReason: String {
        if report.list?.record.paging == HTTPSourceConfiguration.Paging.none.rawValue {
            return "page one may be a part of the list, and no request for more items is known"
        }
        let failure = report.list?.failures.first { $0.failure?.failureClass == .loop }?.failure
        if let failure { return failure.shownMessage }
        if !report.keptChanging, let reason = report.list?.record.miscountText { return reason }
        return "the list kept changing while it was read\(idHint)"
    }

    /// A hint at `--id` for a list without ids, in which a changed item counts as another item. Empty for other lists.
    private var idHint: String {
        let reasons = HTTPSource.explanation(inStored: report.list?.record.source ?? "")
        let hasNone = reasons.contains { $0.field == "id" && $0.value == "none" }
        return hasNone ? " (if a member identifies an item, name it with --id)" : ""
    }

    private var isCached: Bool { report.list?.record.validatedAt != nil }
    /// The key of the query, which contains no secrets. It is the URL, unless `--key` named the query.
    private var shownURL: String { key.text }
    var held: Int { report.list?.coverage.count ?? 0 }

    private func write(_ terminal: Terminal) {
        switch common.outputFormat {
        case .json, .ndjson: terminal.print(json.text)
        case .csv: SyncRendering.table([self]).render(.csv, to: terminal)
        case .table:
            if !common.quiet || status != .done { renderSentence(to: terminal) }
        }
    }

    /// One row for each result, for formats without nested lists. A list becomes the number of its elements.
    static func table(_ results: [SyncRendering]) -> ResultTable {
        let rows = results.map(\.members)
        return ResultTable(
            columns: (rows.first ?? []).map { ResultTable.Column(name: $0.0) },
            rows: rows.map { row in
                row.map { if case .array(let elements) = $0.1 { .init(.int(elements.count)) } else { .init($0.1) } }
            })
    }

    /// Prints the sentence, with the outcome in its colour.
    func renderSentence(to terminal: Terminal) {
        let colour =
            switch report.outcome {
            case _ where report.wasCancelled: Colour.stale
            case .complete, .limited: Colour.fresh
            case .incomplete, .unproven, .offline, .purged: Colour.stale
            case .failed, .damaged: Colour.failing
            }
        terminal.print(sentence: sentence, state: (outcomeName, colour))
    }

    var sentence: String {
        let total = report.list?.record.total.count
        let items =
            total.map { "\(SizeText.count(held)) of \(SizeText.count($0, "item", "items"))" }
            ?? SizeText.count(held, "item", "items")
        let kept =
            report.pagesKept > 0 ? ["\(SizeText.count(report.pagesKept, "page", "pages")) kept without a request"] : []
        return
            (["\(key.shortID): \(outcomeName)", items, described(report.reconciliation), requests] + kept + [
                SizeText.bytes(report.usage.bytesReceived), TimeText.seconds(report.duration),
            ]).joined(separator: " · ")
    }

    /// The sent requests, and what they were for: `104 requests (101 pages fetched, 1 probe, 2 failed
    /// requests)`. The parts add up to the number of requests.
    private var requests: String {
        let sent = report.usage.requests
        let others = sent - report.pagesFetched - report.pagesUnchanged
        // Each count is limited to the requests that are left, so that the parts add up.
        let failed = min(report.usage.failures, max(others, 0))
        let cancelled = min(report.usage.cancelled, max(others - failed, 0))
        let unusable = min(report.usage.unusable, max(others - failed - cancelled, 0))
        let redirects = min(report.usage.redirects, max(others - failed - cancelled - unusable, 0))
        let parts = [
            (report.pagesFetched, "page fetched", "pages fetched"),
            (report.pagesUnchanged, "page unchanged", "pages unchanged"),
            (others - failed - cancelled - unusable - redirects, "probe", "probes"),
            (redirects, "redirect", "redirects"),
            (unusable, "unusable answer", "unusable answers"),
            (failed, "failed request", "failed requests"),
            (cancelled, "cancelled request", "cancelled requests"),
        ].filter { $0.0 > 0 }.map { SizeText.count($0.0, $0.1, $0.2) }
        let count = SizeText.count(sent, "request", "requests")
        return parts.isEmpty ? count : "\(count) (\(parts.joined(separator: ", ")))"
    }

    /// `interrupted` for a run that a signal ended, which is an outcome of the tool and not of the library.
    var outcomeName: String { report.wasCancelled ? "interrupted" : report.outcome.rawValue }

    private func described(_ reconciliation: SyncReport.Reconciliation) -> String {
        switch reconciliation {
        case .none: "not refreshed"
        case .firstLoad: "first load"
        case .unchanged: report.pagesFetched > 0 ? "page one unchanged" : "nothing new"
        case .shifted: "changes of page one applied"
        case .repaired: "changes found and applied"
        case .spliced: "changes applied"
        case .staleTail: "changes after page one not fetched"
        case .replaced: "list fetched again"
        case .swept: "every page verified"
        case .resumed: report.pagesFetched + report.pagesUnchanged > 0 ? "resumed" : "not refreshed"
        }
    }

    /// The documented object.
    var json: JSONOutput { .object(members) }

    private var members: [(String, JSONOutput)] {
        let list = report.list
        return [
            ("query", .string(key.shortID)),
            ("key", .string(key.text)),
            ("paging", .string(list?.record.paging ?? "")),
            ("outcome", .string(outcomeName)),
            ("limited_by", .optional(report.limit?.rawValue)),
            ("reconciliation", .string(report.reconciliation.rawValue)),
            ("requests", .int(report.usage.requests)),
            ("requests_failed", .int(report.usage.failures)),
            ("pages_fetched", .int(report.pagesFetched)),
            ("pages_unchanged", .int(report.pagesUnchanged)),
            ("pages_kept", .int(report.pagesKept)),
            ("pages_not_stored", .int(report.pagesNotStored)),
            ("items", .int(held)),
            ("total", .optional(list?.record.total.count)),
            ("total_kind", .string((list?.record.total ?? .unknown).kindName)),
            ("hidden_items", .int(report.hiddenItems)),
            ("segments", .int(list?.coverage.segments.count ?? 0)),
            (
                "gaps",
                .array(
                    (list?.gaps ?? []).map { .object([("offset", .int($0.lowerBound)), ("count", .int($0.count))]) })
            ),
            ("inferred_seams", .int(list?.inferredSeams ?? 0)),
            ("oldest_check_at", .time(list?.oldestCheckAt)),
            ("last_audit_at", .time(list?.record.lastAuditAt)),
            ("failures", .array((list?.failures ?? []).map(LedgerOutput.entry))),
            ("warnings", .array(report.warnings.map { .string(SettingNames.options(in: $0)) })),
            ("next_attempt_at", .time(report.nextAttemptAt)),
            ("bytes_received", .int(report.usage.bytesReceived)),
            ("duration_ms", .int(Int(report.duration.wholeMilliseconds))),
            (
                "url",
                .string(list.flatMap { ListRunner.url(of: $0.record) } ?? HTTPSource.key(for: url)?.text ?? url)
            ),
            ("version", .optional(list.map { VersionText.text($0.record.contentVersion) })),
        ]
    }
}

extension ListTotal {
    var kindName: String {
        switch self {
        case .exact: "exact"
        case .estimate: "estimate"
        case .unknown: "unknown"
        }
    }
}

/// A ledger entry as JSON.
enum LedgerOutput {
    static func entry(_ entry: LedgerEntry) -> JSONOutput {
        .object([
            ("offset", .int(entry.offset)),
            ("state", .string(entry.state.rawValue)),
            ("attempts", .int(entry.attempts)),
            ("error_class", .optional(entry.failure?.failureClass.rawValue)),
            ("http_status", .optional(entry.failure?.httpStatus)),
            ("error_message", .optional(entry.failure?.shownMessage)),
            ("next_attempt_at", .time(entry.nextAttemptAt)),
        ])
    }
}
#endif
