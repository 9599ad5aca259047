#if Tool
import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Signals from the terminal: Ctrl-Z, continuation, and a new window size.
enum TerminalSignals {
    /// Handles the signals as long as the returned sources are kept.
    static func listen(for terminal: Terminal) -> [any DispatchSourceSignal] {
        // The queue is serial: a continuation is handled after the stop before it.
        let queue = DispatchQueue(label: "pagecache.terminal")
        func source(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: action)
            source.resume()
            return source
        }
        // A process that was started with SIGTSTP ignored keeps ignoring the signal, as is usual.
        let stops = isIgnored(SIGTSTP) ? [] : [source(SIGTSTP) { stop(terminal) }]
        // SIGSTOP cannot be caught, and other programs may have written to the screen meanwhile. So SIGCONT redraws the
        // view.
        return stops + [
            source(SIGCONT) { terminal.takeBack() }, source(SIGWINCH) { terminal.redraw() },
        ]
    }

    private static func stop(_ terminal: Terminal) {
        terminal.suspend()
        stopProcess()
        terminal.resume()
    }

    /// Stops the process as the default action would, and returns when the process continues. In an orphaned process
    /// group, which no shell can continue, this function returns at once (POSIX 2.4.3). SIGSTOP would stop the process
    /// even there.
    private static func stopProcess() {
        var plain = sigaction()
        #if canImport(Darwin)
        plain.__sigaction_u.__sa_handler = SIG_DFL
        #elseif canImport(Musl)
        plain.__sa_handler.sa_handler = SIG_DFL
        #else
        plain.__sigaction_handler.sa_handler = SIG_DFL
        #endif
        var before = sigaction()
        var signals = sigset_t()
        var blocked = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTSTP)
        sigaction(SIGTSTP, &plain, &before)
        pthread_sigmask(SIG_UNBLOCK, &signals, &blocked)
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &blocked, nil)
        sigaction(SIGTSTP, &before, nil)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #elseif canImport(Musl)
        let handler = action.__sa_handler.sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        // Swift cannot compare C functions. The value of SIG_IGN is the number 1 (signal(7)).
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
#endif
