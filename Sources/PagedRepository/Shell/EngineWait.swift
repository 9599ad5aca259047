import PageModel

/// When the engine looks again.
///
/// Belongs to the engine's task.
struct EngineWait {
    /// The soonest moment at which something is due, by the storage's time; nil: none is known.
    private var moment: Timestamp?

    /// A look begins, which finds the moments anew.
    mutating func begin() { moment = nil }

    mutating func noLater(than moment: Timestamp) { self.moment = min(self.moment ?? moment, moment) }

    /// Returns when there is a reason to look again: a commit or a run that ended, which raise `wake`, or a moment that
    /// has come.
    /// - Parameter skew: how far the storage's clock is ahead of `clock`.
    func over(_ wake: Signal, _ clock: any SyncClock, skew: Duration) async {
        let moment = moment.map { $0 + (.zero - skew) }
        await withTaskGroup(of: Void.self) { race in
            race.addTask { await wake.wait() }
            if let moment { race.addTask { try? await clock.alarm(at: moment) } }
            await race.next()
            race.cancelAll()
        }
    }
}
