#if Tool
import ArgumentParser
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
    /// A reader that goes away (`| head`) is no reason to die loudly, and a file size limit none to die at all: both
    /// come back as errors of the write.
    static func outliveReaders() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Runs a command until it is done or a signal stops it, and ends the process with the right code.
    static func run(_ command: sending any AsyncParsableCommand) async -> Never {
        Arenas.reuse()
        let caught = Mutex<Int32?>(nil)
        let task = Task {
            var command = command
            try await command.run()
        }
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
        let result = await task.result
        let stopped = caught.withLock { $0 }
        let status: Int32
        switch result {
        case .success: status = conclude(nil, signal: stopped)
        case .failure(let error): status = conclude(error, signal: stopped)
        }
        // A reader that does not read can hold up the last words, so signals are listened to until they are said.
        // Nothing that never returns may stand before this: what comes behind it keeps nothing alive.
        withExtendedLifetime((sources, told)) {}
        exit(caught.withLock { $0 }.map { 128 + $0 } ?? status)
    }

    /// Ends a process in which nothing was begun.
    static func end(_ error: (any Error)?) -> Never { exit(conclude(error)) }

    /// Says what has to be said of the error, and with which status the process ends. `signal`: which one stopped it;
    /// nothing needs saying then.
    private static func conclude(_ error: (any Error)?, signal: Int32? = nil) -> Int32 {
        var status = ExitStatus.done
        if let ended = error as? Ended {
            status = ended.status
        } else if let error {
            let failure =
                ToolFailure(error) ?? Pagecache.usageFailure(error) ?? ToolFailure(.internal, "internal", "\(error)")
            if signal == nil { Terminal.standard.fail(failure) }
            status = failure.status
        }
        Terminal.standard.finish()
        return status.rawValue
    }

    private static func leaveNow(_ number: Int32) -> Never {
        Terminal.standard.restore()
        AtomicFile.removeUnfinished()
        _exit(128 + number)
    }

    /// A reader that does not read, or a person who does not answer, must not keep us: cancelling does not end a system
    /// call. What was fetched is in the store already (R1).
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
