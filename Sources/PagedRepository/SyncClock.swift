public import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where the shell gets its time from, so that tests can hand out their own.
public protocol SyncClock: Sendable {
    func now() -> Timestamp
    /// Returns at `moment`, or throws `CancellationError`.
    func sleep(until moment: Timestamp) async throws
}

/// The wall clock.
public struct SystemClock: SyncClock {
    public init() {}

    public func now() -> Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }

    public func sleep(until moment: Timestamp) async throws {
        let pause = moment - now()
        if pause > .zero { try await Task.sleep(for: pause) }
    }
}
