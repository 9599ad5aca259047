import Logging
import PageModel

// The log messages of runs and engines. Messages, levels and keys are stable: see Documentation/Observability.md.
//
// The log contains no secrets (R45). A list appears as its short id, an origin as the short id of its name, a failure
// as its class. Keys, URLs, payloads, item ids and texts from the origin, including its error messages, never appear.

extension SyncRun {
    func logBegan() {
        telemetry.logger.debug("run started", metadata: ["work": "\(options.work.word)"])
    }

    func logEnded(_ report: SyncReport) {
        telemetry.logger.debug(
            "run ended",
            metadata: [
                "work": "\(options.work.word)", "outcome": "\(report.outcome.rawValue)",
                "reconciliation": "\(report.reconciliation.rawValue)", "fetched": "\(report.pagesFetched)",
                "unchanged": "\(report.pagesUnchanged)",
            ])
    }

    func logAnswer(_ answer: PageAnswer, _ target: FetchTarget) {
        telemetry.logger.trace(
            "the origin answered",
            metadata: ["offset": "\(target.offset)", "outcome": "\(Metric.Request(answer).rawValue)"])
        telemetry.report?(.answer(at: target.offset), answer.summary)
    }

    func logFailure(_ failure: FetchFailure, _ target: FetchTarget, attempt: Int, nextAttemptAt: Timestamp?) {
        let retry: Metric.Retry = nextAttemptAt == nil ? .none : .scheduled
        telemetry.logger.debug(
            "fetch failed",
            metadata: [
                "offset": "\(target.offset)", "class": "\(failure.word)", "attempt": "\(attempt)",
                "retry": "\(retry.rawValue)",
            ])
        telemetry.report?(.answer(at: target.offset), "failure: \(failure.failureClass.rawValue)")
    }

    func logHeldElsewhere(_ target: FetchTarget) {
        telemetry.logger.trace("page is being fetched elsewhere", metadata: ["offset": "\(target.offset)"])
    }

    /// Logs that the cached list could not be repaired, and will be read again (R18, R19, R25).
    func logReplaced() {
        telemetry.logger.debug("reading the list again", metadata: ["contradictions": "\(belief.drift.contradictions)"])
    }
}

extension SyncEngine {
    func logBegan(_ job: SyncScheduler.Job, _ key: QueryKey) {
        logger.debug("background work", metadata: ["list": "\(key.shortID)", "work": "\(job.work.word)"])
    }

    func logCircuit(_ state: Metric.CircuitState, _ origin: String) {
        // The name of an origin may be its address, so only a short id is logged.
        switch state {
        case .open: logger.debug("the circuit opens", metadata: ["origin": "\(QueryKey(origin).shortID)"])
        case .closed: logger.debug("the circuit closes", metadata: ["origin": "\(QueryKey(origin).shortID)"])
        }
    }
}

extension Logger {
    /// Returns a logger that adds the short id of the list to every message.
    func about(_ key: QueryKey) -> Logger {
        guard logLevel <= .debug else { return self }
        var logger = self
        logger[metadataKey: "list"] = "\(key.shortID)"
        return logger
    }
}

extension PageAnswer {
    /// The answer in a few words, without its items.
    fileprivate var summary: String {
        switch self {
        case .page(let page):
            "\(page.content.count) items, total \(page.total)\(page.next == nil ? "" : ", with a next page")"
        case .notModified: "not modified"
        case .pastEnd: "behind the end"
        case .notFound: "not found"
        }
    }
}

extension FetchFailure {
    /// The failure class as one of a fixed set of words.
    var word: String { Metric.Request(failureClass).rawValue }
}

extension SyncOptions.Work {
    fileprivate var word: String {
        switch self {
        case .everything: "everything"
        case .refresh: "refresh"
        case .sweep: "sweep"
        case .next: "next"
        case .positions: "positions"
        }
    }
}
