public import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where the shell gets its time from, so that tests can hand out their own.
public protocol SyncClock: Sendable {
    /// This moment.
    func now() -> Timestamp
    /// Returns at `moment`, or throws `CancellationError`. Nothing else is to be done until then.
    func sleep(until moment: Timestamp) async throws
    /// Returns at `moment`, or throws `CancellationError`, while other work goes on. The default: `sleep(until:)`.
    ///
    /// The difference is for clocks that do not wait: with nothing else to do such a clock may be late at once; an
    /// alarm goes off when the work beside it has taken that long.
    func alarm(at moment: Timestamp) async throws
}

extension SyncClock {
    public func alarm(at moment: Timestamp) async throws { try await sleep(until: moment) }
}

/// The wall clock.
public struct SystemClock: SyncClock {
    /// The wall clock; it has no settings.
    public init() {}

    /// This moment, in whole milliseconds.
    public func now() -> Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }

    public func sleep(until moment: Timestamp) async throws {
        let pause = moment - now()
        if pause > .zero { try await Task.sleep(for: pause) }
    }
}
