import PageModel

/// The time at which the engine looks for work again.
///
/// Owned by the engine's task.
struct WakeupTimer {
    /// The earliest time at which work is due, by the storage's clock. `nil` means that none is known.
    private var moment: Timestamp?

    /// Begins a look, which determines the time again.
    mutating func begin() { moment = nil }

    mutating func noLater(than moment: Timestamp) { self.moment = min(self.moment ?? moment, moment) }

    /// Waits until there is a reason to look again: `wake` is raised, or work becomes due.
    /// - Parameters:
    ///   - wake: the signal that commits and ended runs raise.
    ///   - clock: the engine's clock.
    ///   - skew: how far the storage's clock is ahead of `clock`.
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
