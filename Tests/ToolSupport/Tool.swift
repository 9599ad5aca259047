#if Tool
public import DemoOrigin
import Foundation
public import ProgramSupport
public import StorageSupport

/// The built tool in a separate process.
public enum Tool {
    public static let path = Program.built("pagecache")

    /// Runs the tool with a search path, a home directory that does not exist, and the given environment variables
    /// only.
    public static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Program.Ended {
        try await start(arguments, environment: environment).ended()
    }

    public static func start(_ arguments: [String], environment: [String: String] = [:]) async throws -> Program {
        var variables = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"]
        for (name, value) in environment { variables[name] = value }
        return try await Program(path, arguments, environment: variables)
    }
}

/// Runs `body` with a running origin, and stops the origin afterwards.
public func withOrigin<Value>(_ origin: DemoOrigin, _ body: (String) async throws -> Value) async throws -> Value {
    let root = try await origin.start()
    do {
        let value = try await body(root)
        await origin.stop()
        return value
    } catch {
        await origin.stop()
        throw error
    }
}

extension DemoOrigin {
    /// An origin of 3,000 items that holds the requests for items from `position` on. Requests are not counted, because
    /// a busy machine may need one more: the answer of a probe is used as a page for a few seconds only.
    public static func holding(from position: Int) -> DemoOrigin {
        DemoOrigin(count: 3_000) { _, target in
            let offset = target.split(separator: "offset=").dropFirst().first
            let first = offset.flatMap { Int($0.prefix(while: \.isNumber)) } ?? 0
            return first >= position ? .hold : nil
        }
    }
}

/// Waits for the effect of another process. No clock can be advanced for it. The deadline only ends a test that would
/// hang.
public func eventually(_ what: String, _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(300)
    while !condition() {
        if ContinuousClock.now > deadline { throw Overdue(what: what) }
        await Task.yield()
    }
}

struct Overdue: Error {
    let what: String
}

/// Returns the ids of the items that `show` prints.
public func shownIDs(_ folder: Folder, _ query: String) async throws -> [String] {
    let shown = try await Tool.run(["show", query, "--store", folder.store])
    return shown.output.split(separator: "\n").compactMap { line in
        ((try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any])?["id"] as? String
    }
}
#endif
