#if Tool
import Subprocess
import Synchronization
import SystemPackage

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// This very program, run as a process of its own.
///
/// State: whether it has ended, under a mutex; the task that runs it says so.
final class Child: Sendable {
    private let running: Task<Ended, any Error>
    private let hasEnded: Flag

    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    init(_ arguments: [String]) {
        let flag = Flag()
        hasEnded = flag
        running = Task {
            defer { flag.isSet.withLock { $0 = true } }
            let record = try await run(
                .path(Child.program), arguments: Arguments(arguments), output: .string(limit: 1 << 20),
                error: .string(limit: 1 << 20))
            return Ended(
                status: record.terminationStatus, output: record.standardOutput, errors: record.standardError)
        }
    }

    /// Nobody is left behind, also when the story is cut short.
    deinit { running.cancel() }

    private static var program: FilePath {
        #if os(Linux)
        FilePath("/proc/self/exe")
        #else
        FilePath(CommandLine.arguments[0])
        #endif
    }

    var isRunning: Bool { !hasEnded.isSet.withLock { $0 } }

    /// As hard as it gets: a subprocess whose task is cancelled gets `kill -9`.
    func kill() async {
        running.cancel()
        _ = await running.result
    }

    /// Waits for its end, and for what it wrote.
    func wait() async throws -> Ended { try await running.value }

    /// How it ended, and what it wrote.
    struct Ended: Sendable {
        fileprivate var status: TerminationStatus
        var output: String
        var errors: String

        /// Its exit status; nil where a signal ended it.
        var code: Int32? { if case .exited(let code) = status { code } else { nil } }

        /// The JSON object that a run of `sync` wrote, if it ended well.
        func result() throws -> SyncWord {
            guard code == 0, let result = try? JSONDecoder().decode(SyncWord.self, from: Data(output.utf8)) else {
                let said = errors.split(separator: "\n").last.map(String.init) ?? "nothing"
                throw ToolFailure(.internal, "child", "a run of pagecache ended with \(status) and said: \(said)")
            }
            return result
        }
    }

    /// What the demo tells of a run of `sync`.
    struct SyncWord: Decodable {
        struct Gap: Decodable {}

        var items: Int
        var total: Int
        var runs: Int
        var gaps: [Gap]
    }
}
#endif
