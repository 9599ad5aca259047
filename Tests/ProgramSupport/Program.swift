#if Tool
import Foundation
import Subprocess
import SystemPackage

/// A program that runs next to the test.
///
/// It replaces `Foundation.Process`. On Linux (Swift 6.3), the `run` of that class copies whole `dirent`s out of
/// `/proc/self/fd`. It reads past the buffer when the process has more than 1,350 open files, as a suite of stores has.
public final class Program: Sendable {
    public struct Ended: Sendable {
        /// The exit code, or the number of the signal that ended the process.
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

    public let id: Int32
    private let end: Task<Ended, any Error>

    /// Starts the program with an empty standard input.
    ///
    /// - Parameter environment: The environment variables of the program. `nil` means those of this process.
    public init(_ path: String, _ arguments: [String], environment: [String: String]? = nil) async throws {
        let (started, continuation) = AsyncThrowingStream<Int32, any Error>.makeStream()
        end = Task {
            do {
                let result = try await Subprocess.run(
                    .path(FilePath(path)),
                    arguments: Arguments(arguments),
                    environment: environment.map {
                        .custom(Dictionary(uniqueKeysWithValues: $0.map { (Environment.Key(rawValue: $0)!, $1) }))
                    } ?? .inherit,
                    input: .none, output: .bytes(limit: 1 << 30), error: .bytes(limit: 1 << 30)
                ) { execution in
                    continuation.yield(execution.processIdentifier.value)
                }
                let status: Int32 =
                    switch result.terminationStatus {
                    case .exited(let code): code
                    case .signaled(let signal): signal
                    }
                return Ended(
                    status: status,
                    output: String(decoding: result.standardOutput, as: UTF8.self),
                    errors: String(decoding: result.standardError, as: UTF8.self))
            } catch {
                continuation.finish(throwing: error)
                throw error
            }
        }
        var identifier: Int32?
        for try await number in started {
            identifier = number
            break
        }
        id = identifier ?? 0
    }

    public static func run(_ path: String, _ arguments: [String], environment: [String: String]? = nil) async throws
        -> Ended
    {
        try await Program(path, arguments, environment: environment).ended()
    }

    /// Returns the path of a program of this package, in the directory of the test bundle.
    public static func built(_ name: String) -> String {
        let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
        let beside = bundle ?? URL(fileURLWithPath: CommandLine.arguments[0])
        return beside.deletingLastPathComponent().appendingPathComponent(name).path
    }

    public func ended() async throws -> Ended { try await end.value }

    public func signal(_ number: Int32) { kill(id, number) }
}
#endif
