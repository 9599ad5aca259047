#if Tool
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// The kind and the size of the terminal.
extension Terminal {
    var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// The columns of the terminal for results. 80 without a terminal.
    var width: Int { Terminal.size(of: STDOUT_FILENO).columns }
    /// The columns and rows of the terminal for results. 80 and 24 without a terminal.
    var size: (columns: Int, rows: Int) { Terminal.size(of: STDOUT_FILENO) }
    /// The columns of the terminal for messages. 80 without a terminal.
    var errorWidth: Int { Terminal.size(of: STDERR_FILENO).columns }

    /// Whether a view that redraws can replace the results.
    var showsViews: Bool { outputIsTerminal && !Terminal.isDumb }

    /// Whether this process may draw: no shell has put it into the background of its terminal (POSIX, 11.1.4).
    var isInForeground: Bool {
        let group = [STDOUT_FILENO, STDERR_FILENO].lazy.map { tcgetpgrp($0) }.first { $0 >= 0 }
        return group.map { $0 == getpgrp() } ?? true
    }

    /// Whether the terminal supports no escape sequences (terminfo(5), "dumb").
    static var isDumb: Bool { getenv("TERM").map { String(cString: $0) == "dumb" } ?? false }

    /// Whether the terminal breaks shown lines anew when it becomes narrower. Most terminals do. xterm, rxvt, screen
    /// and the Linux console cut them.
    static var breaksLines: Bool {
        let kind = getenv("TERM").map { String(cString: $0) } ?? ""
        return getenv("XTERM_VERSION") == nil && getenv("STY") == nil && !kind.hasPrefix("rxvt") && kind != "linux"
    }

    private static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }
}
#endif
