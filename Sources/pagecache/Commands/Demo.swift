#if Tool
import ArgumentParser
import DemoOrigin
import PageModel
import PageStore
import PagedRepository

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `pagecache demo`: a demonstration with an embedded origin.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Tour: an origin with 10,000 items, a kill, changes, and an outage.",
        discussion: """
            The demo needs no network, takes a few seconds, and leaves no files behind.

            EXAMPLES
              pagecache demo
            """)

    @OptionGroup var colours: ColourOptions

    func run() async throws {
        Terminal.standard.configure(
            quiet: false, json: false,
            colour: colours.isColoured(
                environment: ProcessInfo.processInfo.environment, isTerminal: Terminal.standard.outputIsTerminal))
        try DescriptorLimit.check(concurrency: 16)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pagecache-demo-\(UUID().uuidString)"
        ).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Every fortieth request fails with 500, and request 55 with 429, as an ordinary API might answer.
        let origin = DemoOrigin(count: 10_000, latency: .milliseconds(40)) { number, _ in
            number == 55 ? .status(429, retryAfter: 1) : number % 40 == 17 ? .status(500, retryAfter: nil) : nil
        }
        let root = try await origin.start()
        let story = DemoStory(origin: origin, url: "\(root)/items", store: "\(folder)/store.sqlite")
        do {
            try await story.play()
        } catch {
            await origin.stop()
            throw error
        }
        await origin.stop()
    }
}

/// Plays the chapters of the demo with real processes on a real store, and counts their requests.
private final class DemoStory {
    private struct Row {
        var what: String
        var sent: Int
        var plain: String
    }

    private let origin: DemoOrigin
    private let url: String
    private let store: String
    private let terminal = Terminal.standard
    private let pages = 100
    private var rows: [Row] = []

    init(origin: DemoOrigin, url: String, store: String) {
        self.origin = origin
        self.url = url
        self.store = store
    }

    func play() async throws {
        let started = SystemClock().now()
        terminal.print(sentence: "An origin with 10,000 items in 100 pages, 40 ms per answer, some of them errors:")
        terminal.print("  " + cut(url, indentation: 2))
        try await firstSyncAndKill()
        try await resume()
        try await changeAndRefresh()
        try await goOffline()
        table()
        terminal.print("")
        terminal.print(
            sentence:
                "The demo took \(TimeText.seconds(SystemClock().now() - started)), and its files are gone. Your turn: pagecache sync URL"
        )
    }

    // MARK: Chapters

    private func firstSyncAndKill() async throws {
        heading("1  First sync, killed half way")
        let child = Child(["sync", url, "--store", store, "--quiet"])
        while origin.answered < pages / 2, child.isRunning {
            try await watch("fetching")
        }
        await child.kill()
        terminal.progress("")
        let list = try await outline()
        say(
            "kill -9 after \(origin.answered) answers. The store has \(count(list.coverage.count)) items in \(list.heldPages.count) complete pages."
        )
        let inFlight = list.ledger.count { $0.state == .inFlight }
        say("The store records \(SizeText.count(inFlight, "page", "pages")) as in flight.")
    }

    private func resume() async throws {
        heading("2  The next run continues")
        let before = origin.requests.count
        let held = try await outline().heldPages.count
        let child = Child(["sync", url, "--store", store, "--json"])
        while child.isRunning { try await watch("resuming") }
        terminal.progress("")
        let result = try await child.wait().result()
        let sent = origin.requests.count - before
        let storedPages = try await outline().heldPages.count
        let missing = storedPages - held
        say(
            "\(SizeText.count(sent, "request", "requests")) for \(SizeText.count(missing, "missing page", "missing pages")): page one again, and a retry for each error."
        )
        say("The store has \(storedPages) pages now, because each later request repeats one known item.")
        say(
            "\(count(result.items)) of \(SizeText.count(result.total, "item", "items")), \(SizeText.count(result.gaps.count, "gap", "gaps"))."
        )
        rows.append(
            Row(
                what: "first sync, killed half way, and resumed", sent: origin.requests.count,
                plain: "\(before) + \(pages) + retries"))
        let stored = Set(try await ids())
        guard stored == Set(origin.ids), stored.count == 10_000 else { throw broken("the store and the origin differ") }
        say("Checked: the 10,000 ids in the store are the origin's.")
    }

    private func changeAndRefresh() async throws {
        heading("3  The origin changes: three inserts and two deletes")
        for position in [0, 0, 7] { origin.insert(at: position) }
        for position in [20, 40] { origin.remove(at: position) }
        var before = origin.requests.count
        let result = try await run(["sync", url, "--store", store, "--json"])
        let sent = origin.requests.count - before
        say(
            "\(SizeText.count(sent, "request", "requests")): page one and its total explain the changes. The later items shift without a fetch."
        )
        guard try await ids() == origin.ids else { throw broken("the store is not what the origin has") }
        say("Checked: \(count(result.items)) items in the store, in the origin's order.")
        rows.append(Row(what: "3 inserts and 2 deletes applied", sent: sent, plain: "\(pages + 1)"))
        let diff = try await Child(["diff", url, "--store", store]).wait()
        say("pagecache diff, without a request:")
        quote(diff.output)

        before = origin.requests.count
        _ = try await run(["sync", url, "--store", store, "--json"])
        let again = origin.requests.count - before
        say("Again, without changes: \(SizeText.count(again, "request", "requests")), answered with 304 Not Modified.")
        rows.append(Row(what: "refreshed, nothing new", sent: again, plain: "\(pages + 1)"))
    }

    private func goOffline() async throws {
        heading("4  The origin is offline")
        await origin.stop()
        let started = SystemClock().now()
        let shown = try await Child(["show", url, "--store", store, "--offset", "5000", "--limit", "2"]).wait()
        say("pagecache show --offset 5000 --limit 2, after \((SystemClock().now() - started).wholeMilliseconds) ms:")
        quote(shown.output)
        let child = Child(["sync", url, "--store", store, "--wait", "2s"])
        while child.isRunning { try await watch("trying to reach the origin") }
        let ended = try await child.wait()
        terminal.progress("")
        guard let code = ended.code, code == ExitStatus.incomplete.rawValue else {
            throw broken("sync did not end with 75")
        }
        // The rest of the message suggests a command on the store of the demo, which the demo removes at its end.
        let reason = ended.errors.split(separator: "\n").last?.prefix { $0 != ";" } ?? ""
        say("pagecache sync ends with \(code): \(reason.trimmingPrefix("pagecache: "))")
        rows.append(Row(what: "read with the origin offline", sent: 0, plain: "impossible"))
    }

    private func table() {
        heading("What it cost")
        ResultTable(
            columns: [
                .init(name: "what", heading: ""), .init(name: "sent", heading: "requests sent", isNumber: true),
                .init(name: "plain", heading: "a plain client", isNumber: true),
            ],
            rows: rows.map { [.init(.string($0.what)), .init(.int($0.sent)), .init(.string($0.plain))] }
        ).render(.table, to: terminal)
    }

    // MARK: Output

    private func heading(_ text: String) {
        terminal.print("")
        let width = terminal.outputIsTerminal ? terminal.width : .max
        for line in TableLayout.wrapped(text, width: width, margin: "   ", breakingWords: false) {
            terminal.print(styled: terminal.colour(Colour.bold, line))
        }
    }

    /// Prints the output of a command. On a terminal, a line that is too long is cut to the terminal's width and ends
    /// with "…".
    private func quote(_ output: String) {
        for line in output.split(separator: "\n") { terminal.print("     " + cut(line, indentation: 6)) }
    }

    /// Returns the text, cut to the columns that the indentation leaves in a line of the terminal. Without a terminal
    /// the text is not cut.
    private func cut(_ text: some StringProtocol, indentation: Int) -> String {
        let width = terminal.outputIsTerminal ? max(1, terminal.width - indentation) : .max
        return TextWidth.cut(Printable.text(String(text)), to: width)
    }

    private func say(_ text: some StringProtocol) {
        let width = terminal.outputIsTerminal ? max(1, terminal.width - 3) : .max
        let lines = TableLayout.wrapped(Printable.text(String(text)), width: width, margin: "", breakingWords: false)
        for line in lines { terminal.print("   \(line)") }
    }

    private func count(_ number: Int) -> String { SizeText.count(number) }

    /// Shows the number of requests so far, and pauses briefly.
    private func watch(_ what: String) async throws {
        let count = SizeText.count(origin.requests.count, "request", "requests")
        let long = "   \(what): \(count) so far"
        terminal.progress(long.count < terminal.errorWidth ? long : "   \(count)")
        try await Task.sleep(for: .milliseconds(20))
    }

    private func run(_ arguments: [String]) async throws -> Child.SyncWord {
        try await Child(arguments).wait().result()
    }

    private func broken(_ what: String) -> ToolFailure {
        ToolFailure(.internal, "demo", "the demo failed: \(what)")
    }

    // MARK: Looking into the store

    private func withStore<Value>(_ body: (any ToolStore) async throws -> Value) async throws -> Value {
        try await StorePlace.file(store).open(.writing).closed(after: body)
    }

    private func outline() async throws -> ListOutline {
        try await withStore { store in
            guard let list = try await store.summaries().first?.outline else { throw self.broken("nothing was stored") }
            return list
        }
    }

    private func ids() async throws -> [String] {
        try await withStore { store in
            guard let list = try await store.summaries().first?.outline,
                let window = try await store.window(of: list.record.id, 0..<list.length)
            else { return [] }
            return window.parts.flatMap { $0.content.ids.compactMap { $0 } }
        }
    }
}
#endif
