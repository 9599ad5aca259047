#if Tool
import Foundation

/// The files of the package itself.
public enum Repository {
    /// Returns the path of a file, given its path relative to the root of the package.
    public static func path(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent(name).path
    }
}

extension JSONSchema {
    /// The schema of the package's documentation for the output of a command.
    public static func documented(_ name: String) throws -> JSONSchema {
        try JSONSchema(
            try String(contentsOfFile: Repository.path("Documentation/schemas/\(name).json"), encoding: .utf8))
    }
}

/// Repeats an attempt until it succeeds. The deadline only ends a test that would hang.
public func eventuallyAwaiting(_ what: String, _ attempt: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(300)
    while !(try await attempt()) {
        if ContinuousClock.now > deadline { throw Overdue(what: what) }
    }
}
#endif
