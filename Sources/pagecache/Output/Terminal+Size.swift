#if Tool
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// What is at the other end, and how large it is.
extension Terminal {
    var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Columns of the terminal that results go to; 80 where there is none.
    var width: Int { Terminal.size(of: STDOUT_FILENO).columns }
    /// Columns and rows of the terminal that results go to; 80 and 24 where there is none.
    var size: (columns: Int, rows: Int) { Terminal.size(of: STDOUT_FILENO) }
    /// Columns of the terminal that everything else goes to; 80 where there is none.
    var errorWidth: Int { Terminal.size(of: STDERR_FILENO).columns }

    /// Whether a view that redraws can stand where results go.
    var showsViews: Bool { outputIsTerminal && !Terminal.isDumb }

    /// A terminal that knows no escapes (terminfo(5), "dumb").
    static var isDumb: Bool { getenv("TERM").map { String(cString: $0) == "dumb" } ?? false }

    private static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }
}
#endif
