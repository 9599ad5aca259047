import Logging
import PageModel

// What runs and engines say in the log. Messages, levels and keys are promised: Documentation/Observability.md.
//
// R45: a list goes by its short id, an origin by the short id of its name, a failure by its class. No key, URL, payload
// or item id, and no word of the origin, not even an error message, gets here.

extension SyncRun {
    func tellBegun() {
        logger.debug("a run begins", metadata: ["work": "\(options.work.word)"])
    }

    func tellEnded(_ report: SyncReport) {
        logger.debug(
            "a run ends",
            metadata: [
                "work": "\(options.work.word)", "outcome": "\(report.outcome.rawValue)",
                "reconciliation": "\(report.reconciliation.rawValue)", "fetched": "\(report.pagesFetched)",
                "unchanged": "\(report.pagesUnchanged)",
            ])
    }

    func tellAnswered(_ answer: PageAnswer, _ target: FetchTarget) {
        logger.trace(
            "the origin answered",
            metadata: ["offset": "\(target.offset)", "outcome": "\(Metric.Request(answer).rawValue)"])
    }

    func tellFailed(_ failure: FetchFailure, _ target: FetchTarget, attempt: Int, nextAttemptAt: Timestamp?) {
        let retry: Metric.Retry = nextAttemptAt == nil ? .none : .scheduled
        logger.debug(
            "fetch failed",
            metadata: [
                "offset": "\(target.offset)", "class": "\(failure.word)", "attempt": "\(attempt)",
                "retry": "\(retry.rawValue)",
            ])
    }

    func tellLeftToOthers(_ target: FetchTarget) {
        logger.trace("left to others", metadata: ["offset": "\(target.offset)"])
    }

    /// R18, R19, R25: what is held could not be mended.
    func tellReplaced() {
        logger.debug("the list is read anew", metadata: ["contradictions": "\(contradictions)"])
    }
}

extension SyncEngine {
    func tellBegun(_ job: Agenda.Job, _ key: QueryKey) {
        logger.debug("background work", metadata: ["list": "\(key.shortID)", "work": "\(job.work.word)"])
    }

    func tellCircuit(_ state: Metric.CircuitState, _ origin: String) {
        // The name of an origin may be its address.
        switch state {
        case .open: logger.debug("the circuit opens", metadata: ["origin": "\(QueryKey(origin).shortID)"])
        case .closed: logger.debug("the circuit closes", metadata: ["origin": "\(QueryKey(origin).shortID)"])
        }
    }
}

extension Logger {
    /// Says with every line which list it is about.
    func about(_ key: QueryKey) -> Logger {
        guard logLevel <= .debug else { return self }
        var logger = self
        logger[metadataKey: "list"] = "\(key.shortID)"
        return logger
    }
}

extension FetchFailure {
    /// Its class, in a word that is known.
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
