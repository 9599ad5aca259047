#if Tool
import Foundation

/// The files of the package itself.
public enum Repository {
    /// The path of a file, from the root of the package.
    public static func path(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent(name).path
    }
}

/// Does something again and again until it has had its effect. The deadline only ends a test that would hang.
public func eventuallyAwaiting(_ what: String, _ attempt: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !(try await attempt()) {
        if ContinuousClock.now > deadline { throw Overdue(what: what) }
    }
}
#endif
