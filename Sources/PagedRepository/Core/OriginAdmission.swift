import PageModel

/// Tracks which lists are worked on at which origin, and decides whether work on another list may start (R32). Pure
/// logic, without I/O.
struct OriginAdmission {
    enum Decision: Equatable {
        case go
        /// The maximum number of lists is being worked on, in total or at this origin. The end of a run makes room.
        case full
        /// The origin is unavailable, and no work is started there before this time.
        case wait(until: Timestamp)
    }

    /// The result of a run, as far as it concerns the origin.
    enum Reachability: Equatable {
        /// The origin answered, possibly with an error status.
        case response
        /// The origin did not answer, or stopped answering during the run.
        case noResponse
        /// No request was sent, or the result says nothing about the origin.
        case nothing
    }

    enum CircuitChange: Equatable {
        /// The origin became unavailable.
        case opened
        /// The origin answered again.
        case closed
    }

    private let lists: Int
    private let listsPerOrigin: Int
    private let threshold: Int
    private let pause: Duration
    /// The origin of each list that is worked on.
    private var running: [QueryID: String] = [:]
    private var circuits: [String: CircuitBreaker] = [:]

    init(_ options: EngineOptions) {
        (lists, listsPerOrigin) = (options.lists, options.listsPerOrigin)
        threshold = options.sync.transportFailuresUntilOffline
        pause = options.circuitPause
    }

    func isRunning(_ query: QueryID) -> Bool { running[query] != nil }

    func isUnavailable(_ origin: String) -> Bool { !circuit(of: origin).isClosed }

    /// Returns whether work on one more list may start. Changes no state.
    func decision(at origin: String, now: Timestamp) -> Decision {
        guard running.count < lists, running.values.count(where: { $0 == origin }) < listsPerOrigin else {
            return .full
        }
        // Uses a copy of the circuit. Only `begin` may use up a probe.
        var circuit = circuit(of: origin)
        return switch circuit.permission(now: now) {
        case .go, .probe: .go
        case .wait(let moment): .wait(until: moment)
        }
    }

    /// Starts work on the list if `decision(at:now:)` returns `go`. Returns that decision.
    mutating func begin(_ query: QueryID, at origin: String, now: Timestamp) -> Decision {
        let answer = decision(at: origin, now: now)
        guard answer == .go else { return answer }
        var circuit = circuit(of: origin)
        _ = circuit.permission(now: now)
        circuits[origin] = circuit
        running[query] = origin
        return .go
    }

    /// Records that work on the list has ended.
    mutating func ended(_ query: QueryID) { running[query] = nil }

    /// Records the result of a run.
    /// - Returns: the change of the circuit. `nil` means that the circuit did not change.
    mutating func record(_ reachability: Reachability, of origin: String, now: Timestamp) -> CircuitChange? {
        var circuit = circuit(of: origin)
        let wasUnavailable = !circuit.isClosed
        switch reachability {
        case .response: _ = circuit.recordSuccess()
        case .noResponse: circuit.recordFailure(now: now)
        case .nothing: break
        }
        circuits[origin] = circuit
        let isUnavailable = !circuit.isClosed
        guard isUnavailable != wasUnavailable else { return nil }
        return isUnavailable ? .opened : .closed
    }

    /// Restores the circuits from the ledger. An origin that was unavailable before a restart is still unavailable
    /// (R29, R32).
    /// - Parameters:
    ///   - due: the fetches that the ledger has scheduled.
    ///   - origin: returns the name of a list's origin, or nil when it has none.
    /// - Returns: the names of the origins that are unavailable.
    mutating func restore(from due: [DueFetch], origin: (QueryID) -> String?) -> [String] {
        var failures: [String: (count: Int, last: Timestamp)] = [:]
        for fetch in due {
            guard let failure = fetch.entry.failure, failure.isTransport, let name = origin(fetch.query),
                let at = fetch.entry.lastAttemptAt
            else { continue }
            let known = failures[name]
            failures[name] = ((known?.count ?? 0) + fetch.entry.attempts, max(known?.last ?? at, at))
        }
        for (name, known) in failures {
            circuits[name] = CircuitBreaker(
                threshold: threshold, pause: pause, failures: known.count, lastFailureAt: known.last)
        }
        return failures.keys.filter(isUnavailable).sorted()
    }

    private func circuit(of origin: String) -> CircuitBreaker {
        circuits[origin] ?? CircuitBreaker(threshold: threshold, pause: pause)
    }
}

extension OriginAdmission.Reachability {
    /// - Parameters:
    ///   - report: the report of the run.
    ///   - moment: the time at which the run began. Failures before that time belong to other runs.
    init(_ report: SyncReport, since moment: Timestamp) {
        self =
            report.lostOrigin || report.hadNoResponse(since: moment)
            ? .noResponse : report.originAnswered ? .response : .nothing
    }
}

extension SyncReport {
    /// Whether page one failed in transport, or a request did while no page arrived.
    fileprivate func hadNoResponse(since moment: Timestamp) -> Bool {
        if let headFailure { return headFailure.isTransport }
        guard pagesFetched + pagesUnchanged == 0 else { return false }
        return list?.failures.contains { entry in
            entry.failure?.isTransport == true && entry.lastAttemptAt.map { $0 >= moment } ?? false
        } ?? false
    }
}
