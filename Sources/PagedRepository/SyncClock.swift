public import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The source of time for runs, lists and the engine. Tests pass their own.
public protocol SyncClock: Sendable {
    /// The current time.
    func now() -> Timestamp
    /// Returns at `moment`, or throws `CancellationError`. Called when the caller has no other work before `moment`.
    func sleep(until moment: Timestamp) async throws
    /// Returns at `moment`, or throws `CancellationError`, while other work continues. Defaults to `sleep(until:)`.
    ///
    /// The difference matters to test clocks. In `sleep(until:)` such a clock may jump to `moment` at once. In
    /// `alarm(at:)` the clock must wait until the other work has taken that long.
    func alarm(at moment: Timestamp) async throws
}

extension SyncClock {
    public func alarm(at moment: Timestamp) async throws { try await sleep(until: moment) }
}

/// The wall clock.
public struct SystemClock: SyncClock {
    /// Creates the wall clock, which has no settings.
    public init() {}

    /// The current time, in whole milliseconds.
    public func now() -> Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }

    public func sleep(until moment: Timestamp) async throws {
        let pause = moment - now()
        if pause > .zero { try await Task.sleep(for: pause) }
    }
}
