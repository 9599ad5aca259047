#if Tool
import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What a terminal tells a program: Ctrl-Z, that it goes on, and that the window has another size.
enum TerminalSignals {
    /// Listens for as long as what is returned is kept.
    static func listen(for terminal: Terminal) -> [any DispatchSourceSignal] {
        // One after the other: what goes on has stopped before.
        let queue = DispatchQueue(label: "pagecache.terminal")
        func source(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: action)
            source.resume()
            return source
        }
        // Who was told to ignore Ctrl-Z goes on ignoring it, as everybody does.
        let stops = isIgnored(SIGTSTP) ? [] : [source(SIGTSTP) { stop(terminal) }]
        // Somebody may have stopped us with SIGSTOP, which nobody is told of, and written to the screen since.
        return stops + [SIGCONT, SIGWINCH].map { source($0) { terminal.redraw() } }
    }

    private static func stop(_ terminal: Terminal) {
        terminal.suspend()
        stopProcess()
        terminal.resume()
    }

    /// Stops as a program does that does not listen, and returns when it goes on: at once where nobody could ever let
    /// it go on (an orphaned process group, POSIX 2.4.3), as SIGSTOP would not.
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
        // Functions are not compared; what is meant here is the number 1 (signal(7)).
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
#endif
