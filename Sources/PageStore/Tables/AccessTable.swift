import PageModel
import Synchronization

/// When pages were last read (R40), written now and then, so that a read does not cost a write transaction.
enum AccessTable {
    private static let note = SQL(
        """
        INSERT INTO access (body, used_at) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM body WHERE id = ?1)
        ON CONFLICT DO UPDATE SET used_at = max(used_at, ?2)
        """)

    private static let find = SQL("SELECT used_at FROM access WHERE body = ?")

    static func usedAt(_ body: Int64, in connection: Connection) throws(StorageError) -> Timestamp? {
        let found = try connection.reaching(.accesses) { () throws(StorageError) in
            try connection.number(find, .int(body))
        }
        guard let found, let moment = found else { return nil }
        return Timestamp(milliseconds: moment).stored
    }

    static func note(_ bodies: Set<Int64>, at moment: Timestamp, in connection: Connection) throws(StorageError) {
        for body in bodies {
            try connection.reaching(.accesses) { () throws(StorageError) in
                try connection.run(note, .int(body), .time(moment.stored))
            }
        }
    }
}

/// The bodies that were read since the last note of it.
///
/// State: a set and two moments, under one mutex; readers on any thread add, the writer drains.
final class AccessLog: Sendable {
    private struct State {
        var bodies: Set<Int64> = []
        var latest: Timestamp
        var noted: Timestamp
    }

    private let state: Mutex<State>
    /// How exact the order is: reads are stamped with a moment at most this much later.
    private static let interval = Duration.seconds(60)
    /// More pages than this are not remembered; the order is then coarser, and memory bounded.
    private static let capacity = 65_536

    init(openedAt: Timestamp) {
        state = Mutex(State(latest: openedAt, noted: openedAt))
    }

    func read(_ body: Int64) {
        state.withLock { state in
            guard state.bodies.count < AccessLog.capacity else { return }
            state.bodies.insert(body)
        }
    }

    /// What is to be noted now, if it is time; with `moment` nil, at the latest moment known, whatever the time.
    func drain(at moment: Timestamp?, force: Bool = false) -> (bodies: Set<Int64>, at: Timestamp)? {
        state.withLock { state in
            if let moment { state.latest = max(state.latest, moment) }
            let isDue = force || moment == nil || state.latest - state.noted >= AccessLog.interval
            guard isDue, !state.bodies.isEmpty else { return nil }
            defer { state.bodies = [] }
            state.noted = state.latest
            return (state.bodies, state.latest)
        }
    }
}
