#if Tool
import HostileOrigin
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Output of an origin cannot control a terminal (R46).
@Suite("A hostile origin: terminals")
struct TerminalTests {
    /// Sequences that clear a screen, set a title, ring, colour or reverse text: as JSON escapes, and raw where JSON
    /// allows it.
    private static let escaped = #"\u001b[2J\u001b]0;mine\u0007\r\u009b31m\u202e"#
    private static let raw = "\u{9B}31m\u{7F}\u{85}\u{202E}\u{2066}"

    private static let behaviour = Behaviour.answers { request in
        let isFirst = request.parameter("after") == nil
        let name = escaped + raw
        let items = (isFirst ? 1...3 : 4...6).map { #"{"id":"\#(name)\#($0)","text":"\#(raw)\#(escaped)"}"# }
        let next = isFirst ? #""/list?after=3""# : "null"
        return .json(#"{"\#(name) total":6,"\#(name) items":[\#(items.joined(separator: ","))],"next":\#(next)}"#)
    }

    @Test(
        "The output about names and ids with escapes contains no control characters",
        arguments: [[], ["--json"], ["--verbose"]])
    func said(flags: [String]) async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/list", TerminalTests.behaviour)
            let ended = try await bench.sync(flags)
            #expect(ended.status == 0, "\(ended.errors)")
            bench.expectPrintable(ended)
            for arguments in [
                ["list"], ["pages", bench.list], ["verify"], ["list", "--json"], ["pages", bench.list, "--json"],
            ] {
                let told = try await Tool.run(arguments + ["--store", bench.folder.store])
                #expect(told.status == 0, "\(told.errors)")
                bench.expectPrintable(told)
            }
        }
    }

    @Test("Failure messages contain no control characters of a status line or a header field")
    func failures() async throws {
        try await ToolBench.run { bench in
            let head = "HTTP/1.1 503 \u{1B}[2JNo\u{9B}31m\r\nRetry-After: \u{9B}31m\r\nContent-Length: 0\r\n\r\n"
            bench.origin.set("/list", .script(.text(head)))
            let ended = try await bench.sync(ToolBench.places)
            #expect(ended.status == 69)
            bench.expectPrintable(ended)
            bench.origin.set("/list", .answer(.status(302, [("Location", "http://\u{9B}31m.example/\u{202E}")])))
            let redirected = try await bench.sync(ToolBench.places)
            #expect(redirected.status == 65, "\(redirected.errors)")
            bench.expectPrintable(redirected)
        }
    }

    @Test("show prints control characters as escapes on a terminal, and every byte unchanged into a pipe (R7)")
    func shown() async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/list", TerminalTests.behaviour)
            #expect(try await bench.sync().status == 0)
            let piped = try await Tool.run(["show", bench.list, "--store", bench.folder.store])
            #expect(piped.output.contains(TerminalTests.raw) && piped.output.contains(TerminalTests.escaped))
            for format in ["table", "ndjson", "csv", "json"] {
                let ended = try await Program.run(
                    "/usr/bin/env",
                    [
                        "python3", "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)", Tool.path, "show",
                        bench.list,
                    ]
                        + ["--store", bench.folder.store, "--no-color", "--format", format])
                #expect(ended.status == 0, "\(ended.errors)")
                #expect(!ended.output.isEmpty)
                // A terminal ends its lines with CR and LF.
                let lines = ended.output.replacing("\r\n", with: "\n")
                bench.expectPrintable(lines + ended.errors)
            }
        }
    }
}
#endif
