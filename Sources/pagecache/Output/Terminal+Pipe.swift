#if Tool
import PageModel
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Results that are written while a transaction of the store is open.
extension Terminal {
    /// How long an open transaction waits for the reader of a pipe, in all.
    private static let longestWait = Duration.seconds(2)

    /// Does work that writes results while a transaction of the store is open. The reader of a pipe delays the work by
    /// two seconds at most, if a temporary file has room for the remaining results (`PipeSpool`). Returns after the
    /// reader has taken the results.
    /// - Throws: the error of the work; results in the temporary file are then discarded. `ToolFailure` with status 74
    ///   when that file cannot be read back, so that results are lost.
    func writingInTransaction<Value>(_ work: () async throws -> Value) async throws -> Value {
        guard Terminal.isPipe(STDOUT_FILENO) else { return try await work() }
        flush()
        let end = ContinuousClock.now + Terminal.longestWait
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        let spool = PipeSpool(folder: folder) { [self] in
            let rest = ContinuousClock.now.duration(to: end).wholeMilliseconds
            var pipe = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
            return rest > 0 && waiting { poll(&pipe, 1, Int32(rest)) } > 0
        }
        state.withLock { $0.spool = spool }
        do {
            let value = try await work()
            flush()
            state.withLock { $0.spool = nil }
            guard spool.finish({ send($0, to: STDOUT_FILENO) }) else {
                throw ToolFailure(
                    .inputOutput, "io_error", "the temporary file in \(folder) cannot be read back",
                    hint: "write the results into a file")
            }
            return value
        } catch {
            state.withLock { $0.spool = nil }
            throw error
        }
    }

    private static func isPipe(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }
}
#endif
