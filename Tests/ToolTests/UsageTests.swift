#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

@Suite("Usage: help, errors about arguments, durations, sizes")
struct UsageTests {
    private let folder = Folder()

    @Test("The tool without arguments prints its help, and ends with 0")
    func bare() async throws {
        let ended = try await Tool.run([])
        #expect(ended.status == 0)
        #expect(ended.errors.isEmpty)
        let help = try await Tool.run(["--help"])
        #expect(ended.output == help.output)
        for group in ["KEEP FRESH", "READ", "DIAGNOSE", "MAINTAIN"] {
            #expect(ended.output.contains(group), "\(group)")
        }
    }

    @Test(
        "An address with an ambiguous password, or without a known form, is refused, is not shown and creates no file",
        arguments: [
            "postgres://app:p@ssS3cr3t@127.0.0.1/db", "postgres://app:p/S3cr3t@127.0.0.1/db",
            "postgres://app:p?S3cr3t@127.0.0.1/db", "postgress://app:S3cr3t@127.0.0.1/db",
            "mysql://app:S3cr3t@127.0.0.1/db", "postgres:/app:S3cr3t@127.0.0.1/db",
            "host=127.0.0.1 password=S3cr3t dbname=db",
        ])
    func refusedAddress(address: String) async throws {
        for arguments in [["--store", address], []] {
            let ended = try await Tool.run(["list"] + arguments, environment: ["PAGECACHE_STORE": address])
            #expect(ended.status == 64)
            #expect(!(ended.output + ended.errors).contains("S3cr3t"))
            #expect(ended.errors.contains("postgres://") || ended.errors.contains("%40"))
        }
    }

    @Test("The scheme of an address is understood in capital letters")
    func capitalScheme() {
        guard case .server(let address) = StorePlace("POSTGRES://app@h/db") else {
            Issue.record("not a server")
            return
        }
        #expect(address == "postgres://app@h/db")
        guard case .file = StorePlace("/tmp/a=b/store.sqlite") else {
            Issue.record("not a file")
            return
        }
    }

    @Test(
        "An error names the option, the value, and what would be right",
        arguments: [
            (["lst"], "unknown command 'lst' (did you mean 'list'?)"),
            (["lst", "--json"], "unknown command 'lst'"),
            (["lst", "--help"], "unknown command 'lst' (did you mean 'list'?)"),
            (["help", "lst"], "unknown command 'lst' (did you mean 'list'?)"),
            (["help", "exit-code"], "did you mean 'exit-codes'?"),
            (["show", "x", "--limit=-3"], "pagecache: --limit is -3 (give a whole number, 0 or more)"),
            (["sync", "http://h/", "--page-size", "0"], "--page-size is 0 (give a whole number from 1 to 100000)"),
            (["sync", "http://h/", "--max-pages", "0"], "--max-pages is 0 (give a whole number, 1 or more)"),
            (["sync", "http://h/", "--timeout", "0s"], "--timeout must be at least 1ms, and is 0"),
            (["export", "x", "--fields", "n=/name,n=/v"], "--fields has the name 'n' twice"),
            (["show", "x", "--fields", "/id,/id"], "--fields has the name '/id' twice"),
            (
                ["show", "x", "--fields", "/id,x"],
                "'x' in --fields is neither /pointer nor name=/pointer; did you mean '/x'?"
            ),
            (["export", "x", "--fields", "n=v,/id"], "'n=v' in --fields is neither /pointer nor name=/pointer; did"),
            (["show", "x", "--fields", "/id,n=v"], "; did you mean 'n=/v'?"),
            (["show", "x", "--fields", "/a~,/b"], "'/a~' in --fields is neither /pointer nor name=/pointer; a '~'"),
            (["show", "x", "--fields", "=/n"], "'=/n' in --fields is neither /pointer nor name=/pointer; as in"),
            (["sync", "http://h/", "--header-env", "=TOKEN"], "--header-env takes 'Name=VAR', not '=TOKEN'"),
            (["sync", "http://h/", "--header-env", "A="], "--header-env takes 'Name=VAR', not 'A='"),
            (["sync", "http://h/", "--header-env", "A B=PATH"], "'A B' of --header-env has an invalid name (a name"),
            (["sync", "http://h/", "--header", "A B: c"], "the header 'A B' of --header has an invalid name (a name"),
            (["sync", "http://h/", "--bearer-env", "NOPE"], "the variable NOPE of --bearer-env is not set (export it"),
            (["show", "x", "--offset", "-3"], "--offset is -3 (positions are whole numbers from 0 on)"),
            (["sync", "http://h/", "--paging", "foo"], "auto, offset, page, cursor, keyset, link, next-url or none"),
            (["sync", "http://h/", "--concurrency", "x"], "'x' is not valid for --concurrency (give a whole number"),
            (["sync", "http://h/", "--concurrency", "99"], "--concurrency is 99 (give a whole number from 1 to 64)"),
            (["hlep"], "unknown command 'hlep' (did you mean 'help'?)"),
            (["sync", "http://h/", "--nope"], "unknown option '--nope' (see 'pagecache sync --help')"),
            (["--nope"], "unknown option '--nope' (see 'pagecache --help')"),
            (["--hlep"], "unknown option '--hlep' (did you mean '--help'?)"),
            (
                ["sync", "http://127.0.0.1:1/", "--method", "POST", "--body", "/none"],
                "--body: there is no file '/none' (name the file that holds the JSON object)"
            ),
            (
                ["sync", "http://127.0.0.1:1/", "--method", "POST", "--body", "/"],
                "--body: the file '/' is not a file of at most 16 MiB (name the file that holds the JSON object)"
            ),
            (["sync", "--bogus"], "unknown option '--bogus'"), (["sync", "--du"], "did you mean '--due'?"),
            (["demo", "--foo"], "unknown option '--foo' (see 'pagecache demo --help')"),
            (["sync", "http://h/", "--page-size"], "--page-size needs a value"),
            (["sync", "--wait", "-1s", "http://h/"], "--wait must not be negative, and is -1s (durations are written"),
            (["--store", "x", "list"], "options follow the command"),
            (
                ["sync", "http://h/", "--items", "items"],
                "'items' is not valid for --items (a JSON Pointer begins with"
            ),
            (["sync", "--due", "--all"], "--due and --all exclude each other; name one of them"),
            (["sync", "x", "--stale"], "'x' and --stale exclude each other; name one of them"),
            (["sync", "--all", "--key", "k"], "--key needs one query or URL, and cannot be combined with --all"),
            (["sync", "x", "--sweep", "--max-pages", "3"], "--max-pages limits a load, and --sweep takes no limit"),
            (["purge", "x", "--all"], "'x' and --all exclude each other; name one of them"),
            (["purge", "x", "--stale-after", "1h"], "--stale-after is the age for --stale; add --stale, or use"),
            (["export", "x", "--format", "table"], "--format is table; export writes ndjson, json or csv"),
            (["sync", "x", "--key", "k"], "--key names the query of a URL, and 'x' is not a URL; a URL starts"),
            (["sync", "x", "--scope", "s"], "--scope names the query of a URL, and 'x' is not a URL; a URL starts"),
            (["sync", "x", "--offline", "--sweep"], "--sweep needs requests, and --offline sends none"),
            (["sync", "http://h/", "--refresh", "--offline"], "--refresh needs requests, and --offline sends none"),
            (["sync", "http://h/", "--rebind", "--offline"], "--rebind needs requests, and --offline sends none"),
            (["sync", "--all", "--items", "/x"], "--items is about one origin; with --due, --all or --stale"),
            (["sync", "--stale", "--explain"], "--explain is about one origin; with --due, --all or --stale"),
            (["sync", "http://127.0.0.1:1/", "--cacert", "/none"], "--cacert: the file '/none' cannot be read"),
            (["sync", "http://h/", "--body", "/none"], "--body '/none' needs --method POST; a GET request"),
            (["probe", "http://h/", "--cursor-in", "/a"], "--cursor-in '/a' needs --method POST"),
            (["list", "--store", "/tmp"], "/tmp is a directory, not a store (give the path of a file, such as /tmp/"),
            (["sync", "http://h/", "--bearer-file", "/none"], "--bearer-file: there is no file '/none'"),
            (["sync", "http://h/", "--header-env", "X-Key: S3CRET"], "--header-env takes 'Name=VAR', not 'X-Key'"),
            (["completions", "powershell"], "'powershell' is not valid for SHELL (use bash, zsh or fish)"),
            (["list", "--json=3"], "--json takes no value, and got '3' (write --json alone)"),
            (["list", "--format"], "--format needs a value (use table, json, ndjson or csv)"),
            (["purge", "--scope"], "--scope needs a value (--scope <scope>: Every query of this scope)"),
            (
                ["show", "x", "--fields", "a=b=/id"],
                "'a=b=/id' in --fields is neither /pointer nor name=/pointer; a name has no '=', as in owner="
            ),
            (["sync"], "name a URL, a query in the store, --due, --all or --stale"),
        ])
    func errors(arguments: [String], message: String) async throws {
        try await expectUsage(arguments, message)
    }

    @Test(
        "Two options that contradict each other are refused, and the error names both",
        arguments: [
            (["list", "--json", "--format", "csv"], "--json and --format csv exclude each other; name one of them"),
            (["show", "x", "--json", "--format", "table"], "--json and --format table exclude each other"),
            (["sync", "--due", "-q", "-v"], "--quiet and --verbose exclude each other; name one of them"),
            (["list", "--no-color", "--color=always"], "--color always and --no-color exclude each other; name one"),
            (["demo", "--no-color", "--color", "auto"], "--color auto and --no-color exclude each other; name one"),
            (
                ["sync", "http://h/", "--header", "authorization : Basic S", "--bearer-file", "f"],
                "--header 'Authorization' and --bearer-file exclude each other; name one of them"
            ),
            (
                ["retry", "--header-env", "Authorization=VAR", "--bearer-env", "VAR"],
                "--header-env 'Authorization' and --bearer-env exclude each other; name one of them"
            ),
            (
                ["sync", "http://h/", "--paging", "offset", "--page-param", "p"],
                "--paging offset and --page-param exclude each other; name one of them"
            ),
            (
                ["probe", "http://h/", "--paging", "none", "--next", "/next"],
                "--paging none and --next exclude each other; name one of them"
            ),
            (["verify", "--repair", "--set-aside"], "--repair and --set-aside exclude each other; name one of them"),
        ] as [([String], String)])
    func contradictions(arguments: [String], message: String) async throws {
        try await expectUsage(arguments, message)
    }

    /// Expects the tool to refuse these arguments in one line, and to create no file.
    private func expectUsage(_ arguments: [String], _ message: String) async throws {
        let ended = try await Tool.run(arguments, environment: ["PAGECACHE_STORE": folder.store])
        #expect(ended.status == 64)
        // The option comes before the words of the shell in JSON.
        let isJSON = arguments.contains("--json")
        #expect(ended.errors.contains(message), "\(ended.errors)")
        #expect(ended.errors.hasPrefix(isJSON ? "{" : "pagecache: "))
        #expect(ended.errors.split(separator: "\n").count == 1)
        #expect(folder.contents == [])
    }

    @Test("help knows the commands and the exit codes")
    func topics() async throws {
        let codes = try await Tool.run(["help", "exit-codes"])
        #expect(codes.status == 0)
        #expect(codes.output.hasPrefix("EXIT CODES\n   0  done"))
        #expect(!codes.output.contains("EXAMPLES"))
        let list = try await Tool.run(["list", "--help"]).output
        #expect(try await Tool.run(["help", "list"]).output == list)
        #expect(try await Tool.run(["help", "ls"]).status == 0)
        let whole = try await Tool.run(["--help"]).output
        #expect(try await Tool.run(["help"]).output == whole)
    }

    private static let sizes: [(text: String, bytes: Int?)] = [
        ("500", 500), ("500B", 500), ("64k", 64_000), ("500M", 500_000_000), ("500MB", 500_000_000),
        ("500mb", 500_000_000), ("1.5G", 1_500_000_000), ("512MiB", 512 << 20), ("1KiB", 1_024),
        ("2T", 2_000_000_000_000), ("M", nil), ("5X", nil), ("-5M", nil), ("5 M", nil), ("", nil), ("1e3", nil),
        ("5iB", nil),
    ]

    @Test("Sizes are accepted as du, docker and restic write them")
    func readSizes() {
        for (text, bytes) in UsageTests.sizes { #expect(SizeArgument(argument: text)?.bytes == bytes, "\(text)") }
    }

    private static let durations: [(text: String, seconds: Double?)] = [
        ("250ms", 0.25), ("30s", 30), ("5m", 300), ("2h", 7_200), ("7d", 604_800), ("1w", 604_800), ("1h30m", 5_400),
        ("0s", 0), ("1y", 31_536_000), ("5", nil), ("h", nil), ("1x", nil), ("-5m", nil), ("", nil), ("1h 30m", nil),
    ]

    @Test("Durations are accepted as docker and restic write them")
    func readDurations() {
        for (text, seconds) in UsageTests.durations {
            #expect(DurationArgument(argument: text)?.duration == seconds.map { .seconds($0) }, "\(text)")
        }
    }
}
#endif
