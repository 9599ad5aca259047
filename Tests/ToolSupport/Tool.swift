#if Tool
public import DemoOrigin
public import Foundation
import Synchronization

/// The built tool, run as a process of its own.
public final class Tool: Sendable {
    public struct Ended: Sendable {
        public var status: Int32
        public var output: String
        public var errors: String

        /// The JSON object on standard output.
        public var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(output.utf8))) as? [String: Any] ?? [:]
        }

        public var jsonArray: [[String: Any]] {
            (try? JSONSerialization.jsonObject(with: Data(output.utf8))) as? [[String: Any]] ?? []
        }
    }

    /// The binary lies beside the bundle of tests.
    public static let url = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }?
        .deletingLastPathComponent().appendingPathComponent("pagecache")
        ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("pagecache")

    private let process = Process()
    private let outputTask: Task<Data, Never>
    private let errorTask: Task<Data, Never>

    public init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let output = Pipe()
        let errors = Pipe()
        process.executableURL = Tool.url
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        var variables = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"]
        for (name, value) in environment { variables[name] = value }
        process.environment = variables
        try Tool.start(process)
        outputTask = Tool.reading(output.fileHandleForReading)
        errorTask = Tool.reading(errors.fileHandleForReading)
    }

    public static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Ended {
        try await Tool(arguments, environment: environment).ended()
    }

    public func ended() async -> Ended {
        let output = String(decoding: await outputTask.value, as: UTF8.self)
        let errors = String(decoding: await errorTask.value, as: UTF8.self)
        process.waitUntilExit()
        return Ended(status: process.terminationStatus, output: output, errors: errors)
    }

    public func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    private static let starting = Mutex(())

    /// Starts a process; one at a time. `Process.run` of Swift 6.3 on Linux crashes when several threads are in it.
    public static func start(_ process: Process) throws {
        try starting.withLock { _ in try process.run() }
    }

    private static func reading(_ handle: FileHandle) -> Task<Data, Never> {
        Task.detached {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: handle.readDataToEndOfFile()) }
            }
        }
    }
}

/// A directory of its own for a test; gone with the value.
public final class Folder: Sendable {
    public let path = FileManager.default.temporaryDirectory.appendingPathComponent("pagecache-test-\(UUID().uuidString)").path

    public init() { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    public var store: String { "\(path)/store.sqlite" }
    public var contents: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
}

/// Runs `body` with an origin that serves, and stops it.
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

/// Waits for something that another process brings about. There is no clock to turn: the deadline only ends a test
/// that would hang.
public func eventually(_ what: String, _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition() {
        if ContinuousClock.now > deadline { throw Overdue(what: what) }
        await Task.yield()
    }
}

struct Overdue: Error {
    let what: String
}

/// The ids of the items that `show` prints.
public func shownIDs(_ folder: Folder, _ query: String) async throws -> [String] {
    let shown = try await Tool.run(["show", query, "--store", folder.store])
    return shown.output.split(separator: "\n").compactMap { line in
        ((try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any])?["id"] as? String
    }
}
#endif
