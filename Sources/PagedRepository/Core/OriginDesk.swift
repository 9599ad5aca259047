import PageModel

/// Which lists are worked on at which origin, and whether one more may be: pure (R32).
struct OriginDesk {
    enum Answer: Equatable {
        case go
        /// As many lists as may be are worked on. Whoever ends makes room.
        case full
        /// The origin is left alone until then.
        case wait(until: Timestamp)
    }

    /// What a run tells of its origin.
    enum Word: Equatable {
        /// The origin answered, be it with a refusal.
        case heard
        /// It was asked, and nothing came.
        case silence
        /// It was not asked, or answered nothing that would say.
        case nothing
    }

    enum Turn: Equatable {
        /// The origin counts as away from now on.
        case away
        /// It was away, and is heard again.
        case back
    }

    private let lists: Int
    private let listsPerOrigin: Int
    private let threshold: Int
    private let pause: Duration
    /// The origin of every list that is worked on.
    private var running: [QueryID: String] = [:]
    private var circuits: [String: Circuit] = [:]

    init(_ options: EngineOptions) {
        lists = max(1, options.lists)
        listsPerOrigin = max(1, options.listsPerOrigin)
        threshold = options.sync.transportFailuresUntilOffline
        pause = options.circuitPause
    }

    func isRunning(_ query: QueryID) -> Bool { running[query] != nil }

    func isAway(_ origin: String) -> Bool { !circuit(of: origin).isClosed }

    /// Whether one more list may be worked on. Nothing is used up by asking.
    func answer(at origin: String, now: Timestamp) -> Answer {
        guard running.count < lists, running.values.count(where: { $0 == origin }) < listsPerOrigin else {
            return .full
        }
        // A copy is asked: what may be asked of the origin is used up by what begins.
        var circuit = circuit(of: origin)
        return switch circuit.ask(now: now) {
        case .go, .probe: .go
        case .wait(let moment): .wait(until: moment)
        }
    }

    /// The list is worked on from now on, if the answer is to go.
    mutating func begin(_ query: QueryID, at origin: String, now: Timestamp) -> Answer {
        let answer = answer(at: origin, now: now)
        guard answer == .go else { return answer }
        var circuit = circuit(of: origin)
        _ = circuit.ask(now: now)
        circuits[origin] = circuit
        running[query] = origin
        return .go
    }

    /// The list is not worked on any more.
    mutating func ended(_ query: QueryID) { running[query] = nil }

    /// - Returns: what turned with it; nil when nothing did.
    mutating func told(_ word: Word, of origin: String, now: Timestamp) -> Turn? {
        var circuit = circuit(of: origin)
        let wasAway = !circuit.isClosed
        switch word {
        case .heard: _ = circuit.heard()
        case .silence: circuit.notHeard(now: now)
        case .nothing: break
        }
        circuits[origin] = circuit
        let isAway = !circuit.isClosed
        guard isAway != wasAway else { return nil }
        return isAway ? .away : .back
    }

    /// R29, R32: after a restart, an origin that was away is away still, as far as the ledger tells.
    /// - Parameters:
    ///   - due: what the ledger has scheduled.
    ///   - origin: the name of a list's origin; nil for lists that have none.
    /// - Returns: the origins that are away.
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
            circuits[name] = Circuit(
                threshold: threshold, pause: pause, failures: known.count, lastFailureAt: known.last)
        }
        return failures.keys.filter(isAway).sorted()
    }

    private func circuit(of origin: String) -> Circuit {
        circuits[origin] ?? Circuit(threshold: threshold, pause: pause)
    }
}

extension OriginDesk.Word {
    /// - Parameter moment: when the run began: what failed before it tells nothing of it.
    init(_ report: SyncReport, since moment: Timestamp) {
        self =
            report.outcome == .offline || report.wasNotHeard(since: moment)
            ? .silence : report.wasHeard ? .heard : .nothing
    }
}

extension SyncReport {
    /// Whether nothing came, and something that was asked for failed in transport.
    fileprivate func wasNotHeard(since moment: Timestamp) -> Bool {
        if let headFailure { return headFailure.isTransport }
        guard pagesFetched + pagesUnchanged == 0 else { return false }
        return list?.failures.contains { entry in
            entry.failure?.isTransport == true && entry.lastAttemptAt.map { $0 >= moment } ?? false
        } ?? false
    }
}
