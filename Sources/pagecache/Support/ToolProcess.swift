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

/// The process of the tool: its signals and its end.
enum ToolProcess {
    /// Ignores the signals SIGPIPE and SIGXFSZ, so that they do not end the process. A write then fails with an error
    /// when the reader of a pipe has ended (`| head`) or a file size limit is reached.
    static func outliveReaders() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Runs a command until it ends or a signal stops it. Exits with the status of the result, or with 128 plus the
    /// number of the signal.
    static func run(_ command: sending any AsyncParsableCommand) async -> Never {
        Arenas.reuse()
        let caught = Mutex<Int32?>(nil)
        let task = Task {
            var command = command
            try await command.run()
        }
        let sources = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].map { number in
            // The runtime's own handler of SIGQUIT would print a backtrace on the screen of a view.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                // The first signal stops the command and keeps the fetched pages. The second one exits at once.
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
        let waits = StoreWait.show(on: .standard)
        let result = await task.result
        waits.cancel()
        // No line is drawn after the result.
        await waits.value
        let stopped = caught.withLock { $0 }
        let status: Int32
        switch result {
        case .success: status = conclude(nil, signal: stopped)
        case .failure(let error): status = conclude(error, signal: stopped)
        }
        // A slow reader can block the last output, so the signal sources must live until here. `exit` never returns, so
        // a use of the sources after it would not keep them alive.
        withExtendedLifetime((sources, told)) {}
        exit(caught.withLock { $0 }.map { 128 + $0 } ?? status)
    }

    /// Ends a process that has started no work.
    static func end(_ error: (any Error)?) -> Never { exit(conclude(error)) }

    /// Prints the message of an error, and returns the exit status. Prints no message when `signal`, the signal that
    /// stopped the command, is not nil.
    private static func conclude(_ error: (any Error)?, signal: Int32? = nil) -> Int32 {
        var status = ExitStatus.done
        if let ended = error as? Ended {
            status = ended.status
        } else if let error {
            let failure =
                ToolFailure(error) ?? Pagecache.usageFailure(error) ?? ToolFailure(.internal, "internal", "\(error)")
            if signal == nil {
                // The screen of a view is left first, because leaving it later would remove the message.
                Terminal.standard.restore()
                Terminal.standard.fail(failure)
            }
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

    /// Exits when a system call blocks: a reader that does not read, or a prompt without an answer. Cancelling a task
    /// does not end a system call. Fetched pages are in the store already (R1).
    private static func leaveWhenStuck(_ number: Int32) {
        let waiting = Terminal.standard.pendingCall
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(400)) {
            if waiting != nil, Terminal.standard.pendingCall == waiting { leaveNow(number) }
            leaveWhenStuck(number)
        }
    }

    /// Ends the command with a status after it has printed all its messages.
    struct Ended: Error {
        var status: ExitStatus
    }
}
#endif
