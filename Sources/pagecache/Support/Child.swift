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
/// State, behind mutexes: whether the process has ended, and its standard error so far. The task that runs the process
/// changes both.
final class Child: Sendable {
    private let running: Task<Ended, any Error>
    private let progress: Progress

    private final class Progress: Sendable {
        let hasEnded = Mutex(false)
        let errors = Mutex<[UInt8]>([])

        var text: String { String(decoding: errors.withLock { $0 }, as: UTF8.self) }
    }

    /// The largest number of bytes of standard output, and the number of bytes of standard error that are kept.
    private static let mostBytes = 1 << 20

    /// - Parameter environment: variables for the new process, in addition to those of this process. Defaults to none.
    init(_ arguments: [String], environment: [String: String] = [:]) {
        let progress = Progress()
        self.progress = progress
        running = Task {
            defer { progress.hasEnded.withLock { $0 = true } }
            let record = try await run(
                .path(Child.program), arguments: Arguments(arguments),
                environment: .inherit.updating(
                    Dictionary(
                        uniqueKeysWithValues: environment.map { (Environment.Key(rawValue: $0) ?? "", $1) })),
                input: .none, output: .string(limit: Child.mostBytes), error: .sequence
            ) { execution -> Void in
                for try await buffer in execution.standardError {
                    let bytes = buffer.withUnsafeBytes { Array($0) }
                    progress.errors.withLock { errors in
                        let room = max(0, Child.mostBytes - errors.count)
                        errors += bytes.prefix(room)
                    }
                }
            }
            return Ended(
                status: record.terminationStatus, output: record.standardOutput, errors: progress.text)
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

    var isRunning: Bool { !progress.hasEnded.withLock { $0 } }

    /// The standard error of the process so far.
    var errors: String { progress.text }

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

        /// The JSON object that a successful run of `sync` printed. Throws `ToolFailure` for another exit status or
        /// output.
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
