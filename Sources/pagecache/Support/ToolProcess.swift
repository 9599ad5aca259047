#if Tool
import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The tool as a process: signals, and how it ends.
enum ToolProcess {
    /// Runs the tool, and ends the process with the right code.
    static func run(_ body: @escaping @Sendable () async throws -> Void) async -> Never {
        // A reader that goes away (`| head`) is no reason to die loudly, and a file size limit none to die at all:
        // both come back as errors of the write.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        let caught = Mutex<Int32?>(nil)
        let task = Task { try await body() }
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                // Once: stop, and keep what was fetched. Twice: now.
                let again = caught.withLock { first in
                    defer { first = first ?? number }
                    return first != nil
                }
                if again { leaveNow(number) }
                task.cancel()
                leaveWhenStuck(number)
            }
            source.resume()
            return source
        }
        let told = TerminalSignals.listen(for: .standard)
        let status: Int32
        do {
            try await task.value
            status = 0
        } catch let ended as Ended {
            status = ended.status.rawValue
        } catch {
            let failure = ToolFailure(error) ?? ToolFailure(.internal, "internal", "\(error)")
            if caught.withLock({ $0 }) == nil { Terminal.standard.fail(failure) }
            status = failure.status.rawValue
        }
        Terminal.standard.finish()
        withExtendedLifetime((sources, told)) {}
        exit(caught.withLock { $0 }.map { 128 + $0 } ?? status)
    }

    private static func leaveNow(_ number: Int32) -> Never {
        Terminal.standard.restore()
        AtomicFile.removeUnfinished()
        _exit(128 + number)
    }

    /// A reader that does not read, or a person who does not answer, must not keep us: cancelling does not end a system call.
    /// What was fetched is in the store already (R1).
    private static func leaveWhenStuck(_ number: Int32) {
        let waiting = Terminal.standard.pendingCall
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(400)) {
            if waiting != nil, Terminal.standard.pendingCall == waiting { leaveNow(number) }
            leaveWhenStuck(number)
        }
    }

    /// Ends with a status after everything was said that there is to say.
    struct Ended: Error {
        var status: ExitStatus
    }
}
#endif
