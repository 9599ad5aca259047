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

/// A program in a pseudo-terminal. The test reads the output that a terminal would display.
///
/// State: the master side of the terminal, and the output read from it, under a mutex. A thread reads until the program
/// has ended, and then closes the master.
public final class TerminalProgram: Sendable {
    public let id: Int32
    private let master: Int32
    private let screen = Mutex<[UInt8]>([])
    private let status = Mutex<Int32?>(nil)

    public struct Failed: Error {
        let what: String
    }

    /// Starts the program as the leader of its own session. Ctrl-C typed at the terminal therefore sends it a signal.
    ///
    /// - Parameters:
    ///   - environment: All environment variables of the program.
    ///   - columns: The width of the terminal.
    ///   - rows: The height of the terminal.
    ///   - output: The file for standard output. `nil` means the terminal. Defaults to nil.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String], columns: Int = 80, rows: Int = 24,
        output: String? = nil
    ) throws {
        var (master, slave): (Int32, Int32) = (-1, -1)
        var name = [CChar](repeating: 0, count: 256)
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&master, &slave, &name, nil, &size) == 0 else { throw Failed(what: "openpty: \(errno)") }
        // Programs that other tests start must not inherit this terminal.
        for descriptor in [master, slave] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        defer { close(slave) }

        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        let newSession: Int16 = 0x0400
        #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        // POSIX_SPAWN_SETSID (spawn.h), which the overlay does not import.
        let newSession: Int16 = 0x80
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // The first terminal that a session leader opens becomes its controlling terminal (termios(3)).
        posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
        if let output {
            posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        } else {
            posix_spawn_file_actions_adddup2(&actions, 0, 1)
        }
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        // Signals are reset as in a shell, whatever this process ignores.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGINT, SIGTERM, SIGPIPE, SIGTSTP] { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))

        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var process: pid_t = 0
        let result = posix_spawn(&process, path, &actions, &attributes, words, variables)
        guard result == 0 else {
            close(master)
            throw Failed(what: "posix_spawn: \(result)")
        }
        id = process
        self.master = master
        // Reading blocks, so it runs on its own thread and not in a task.
        DispatchQueue(label: "pagecache.terminal").async { self.read() }
    }

    /// The output so far, including escapes.
    public var shown: String { String(decoding: screen.withLock { $0 }, as: UTF8.self) }

    /// The exit code, or the number of the signal that ended the process. `nil` means that it still runs.
    public var ended: Int32? { status.withLock { $0 } }

    /// Types a text. `\u{3}` is Ctrl-C.
    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    public func signal(_ number: Int32) { kill(id, number) }

    /// Resizes the terminal. Its foreground process receives SIGWINCH.
    public func resize(columns: Int, rows: Int) {
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            let isOver = ended != nil
            // The last output is still readable after the program has ended.
            guard poll(&ready, 1, isOver ? 0 : 20) > 0 else {
                if isOver { break }
                reap()
                continue
            }
            let count = systemRead(master, &buffer, buffer.count)
            if count > 0 {
                screen.withLock { $0 += buffer.prefix(count) }
            } else if isOver {
                break
            } else {
                // No process has the other side of the terminal open any more.
                reap(waits: true)
            }
        }
        close(master)
    }

    private func reap(waits: Bool = false) {
        var word: Int32 = 0
        guard waitpid(id, &word, waits ? 0 : WNOHANG) == id else { return }
        let signal = word & 0x7F
        status.withLock { $0 = signal == 0 ? (word >> 8) & 0xFF : signal }
    }
}

private let systemRead = read as @convention(c) (Int32, UnsafeMutableRawPointer?, Int) -> Int
#endif
