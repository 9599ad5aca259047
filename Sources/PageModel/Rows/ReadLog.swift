import Synchronization

/// Collects which pages were read, by the ids of their bodies, until the storage stores the time of these reads.
/// Eviction first removes the pages that were read longest ago (R40).
///
/// State: a set and two times, under one mutex. Readers on any thread add bodies; the writer drains the set.
package final class ReadLog<Body: Hashable & Sendable>: Sendable {
    private struct State {
        var bodies: Set<Body> = []
        var latest: Timestamp
        var noted: Timestamp
    }

    private let state: Mutex<State>
    /// The shortest time between two writes of read times. A read gets the time of the write that follows it.
    private static var interval: Duration { .seconds(60) }
    /// The largest number of remembered bodies. Further reads are not recorded, which makes the order coarser but keeps
    /// memory bounded.
    private static var capacity: Int { 65_536 }

    package init(openedAt: Timestamp) {
        state = Mutex(State(latest: openedAt, noted: openedAt))
    }

    package func read(_ body: Body) {
        state.withLock { state in
            guard state.bodies.count < Self.capacity else { return }
            state.bodies.insert(body)
        }
    }

    /// Returns the bodies that were read and the read time to write for them, and empties the log. Returns nil when no
    /// write is due or no body was read.
    /// - Parameters:
    ///   - moment: the current time. With `nil` the write is due, and the read time is the latest time of an earlier
    ///     call or of the opening.
    ///   - force: whether the write is due regardless of the interval. Defaults to false.
    package func drain(at moment: Timestamp?, force: Bool = false) -> (bodies: Set<Body>, at: Timestamp)? {
        state.withLock { state in
            if let moment { state.latest = max(state.latest, moment) }
            let isDue = force || moment == nil || state.latest - state.noted >= Self.interval
            guard isDue, !state.bodies.isEmpty else { return nil }
            defer { state.bodies = [] }
            state.noted = state.latest
            return (state.bodies, state.latest)
        }
    }
}
