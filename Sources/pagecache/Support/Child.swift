#if Tool
import Subprocess
import Synchronization
import SystemPackage

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// This program, run as a separate process.
///
/// State, behind a mutex: whether the process has ended. The task that runs it sets the flag.
final class Child: Sendable {
    private let running: Task<Ended, any Error>
    private let hasEnded: Flag

    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    /// - Parameter environment: variables that the process has besides those of this one. Defaults to none.
    init(_ arguments: [String], environment: [String: String] = [:]) {
        let flag = Flag()
        hasEnded = flag
        running = Task {
            defer { flag.isSet.withLock { $0 = true } }
            let record = try await run(
                .path(Child.program), arguments: Arguments(arguments),
                environment: .inherit.updating(
                    Dictionary(
                        uniqueKeysWithValues: environment.map { (Environment.Key(rawValue: $0) ?? "", $1) })),
                output: .string(limit: 1 << 20),
                error: .string(limit: 1 << 20))
            return Ended(
                status: record.terminationStatus, output: record.standardOutput, errors: record.standardError)
        }
    }

    /// Ends the process, if it still runs.
    deinit { running.cancel() }

    private static var program: FilePath {
        #if os(Linux)
        FilePath("/proc/self/exe")
        #else
        FilePath(CommandLine.arguments[0])
        #endif
    }

    var isRunning: Bool { !hasEnded.isSet.withLock { $0 } }

    /// Ends the process with `kill -9`: the effect of cancelling the task of a subprocess.
    func kill() async {
        running.cancel()
        _ = await running.result
    }

    /// Waits for the end of the process, and returns its output.
    func wait() async throws -> Ended { try await running.value }

    /// The exit and the output of the process.
    struct Ended: Sendable {
        fileprivate var status: TerminationStatus
        var output: String
        var errors: String

        /// The exit status. `nil` when a signal ended the process.
        var code: Int32? { if case .exited(let code) = status { code } else { nil } }

        /// The JSON object that a successful run of `sync` printed.
        func result() throws -> SyncWord {
            guard code == 0, let result = try? JSONDecoder().decode(SyncWord.self, from: Data(output.utf8)) else {
                let said = errors.split(separator: "\n").last.map(String.init) ?? "nothing"
                throw ToolFailure(
                    .internal, "child", "a pagecache process of this command ended with \(status) and printed: \(said)")
            }
            return result
        }
    }

    /// The values of a `sync` result that the demo prints.
    struct SyncWord: Decodable {
        struct Gap: Decodable {}

        var items: Int
        var total: Int
        var segments: Int
        var gaps: [Gap]
    }
}
#endif
