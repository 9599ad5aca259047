#if Tool
import DemoOrigin
import Foundation
import PageModel
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import PageStore
@testable import pagecache

/// The text on a terminal while the store is not available: another process holds its lock, or its server is down.
@Suite("Waiting for the store")
struct StoreWaitTests {
    private let folder = Folder()

    private func start(_ arguments: [String], store: String) throws -> TerminalProgram {
        try TerminalProgram(
            Tool.path, arguments + ["--store", store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"])
    }

    private func isWaiting(_ tool: TerminalProgram) -> Bool { tool.shown.contains(/waiting \d+ s for the store/) }

    @Test("A wait of a second has words, and a shorter one has none")
    func text() {
        #expect(StoreWait.text(nil) == nil)
        #expect(StoreWait.text(.milliseconds(999)) == nil)
        #expect(StoreWait.text(.milliseconds(4_900)) == "waiting 4 s for the store")
    }

    @Test("A line about a wait is read back, and is not a message of the command")
    func reported() {
        func report(_ words: String?...) -> String { words.map { StoreWait.line($0) + "\n" }.joined() }
        let waiting = "pagecache: warning: x\n" + report("waiting 1 s for the store", "waiting 2 s for the store")
        #expect(StoreWait.reported(in: waiting).words == "waiting 2 s for the store")
        #expect(StoreWait.reported(in: waiting).others == "pagecache: warning: x\n")
        let ended = waiting + report(nil) + "pagecache: incomplete: 1 page failed\n"
        #expect(StoreWait.reported(in: ended).words == nil)
        #expect(StoreWait.reported(in: ended).others.hasSuffix("x\npagecache: incomplete: 1 page failed\n"))
        #expect(StoreWait.reported(in: "").words == nil)
    }

    @Test("watch says that a retry waits for the lock of another process, and then its result")
    func watched() async throws {
        try await fill()
        let tool = try start(["watch", "orders"], store: folder.store)
        try await eventually("the keys are shown") { tool.shown.contains("q quit") }
        let other = try Connection(path: folder.store)
        try other.execute("BEGIN IMMEDIATE")
        tool.type("r")
        // The busy budget of 5 s ends the retry.
        try await eventually("the result is there") { tool.shown.contains("retry failed: ") || tool.ended != nil }
        #expect(isWaiting(tool) && tool.shown.contains("s for the store (another process"), "\(tool.shown)")
        try other.execute("ROLLBACK")
        tool.type("q")
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0)
    }

    @Test(
        "Every command that writes says that it waits for another process, and shows no wait after its end",
        arguments: [
            ["sync", "orders", "--wait", "0s"], ["sync", "--all", "--wait", "0s"],
            ["sync", "--due", "--stale-after", "1ms"], ["sync", "--stale", "--stale-after", "1ms", "--wait", "0s"],
            ["retry", "--no-run"], ["pin", "orders"], ["unpin", "orders"], ["purge", "orders", "--yes"],
        ])
    func locked(command: [String]) async throws {
        try await fill()
        let other = try Connection(path: folder.store)
        try other.execute("BEGIN IMMEDIATE")
        let tool = try start(command, store: folder.store)
        try await eventually("it waits") { isWaiting(tool) || tool.ended != nil }
        // A busy machine may look at the output only after the busy budget of 5 s: the command has ended then.
        #expect(isWaiting(tool), "\(tool.shown)")
        try other.execute("ROLLBACK")
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.shown.components(separatedBy: "\r\u{1b}[K").last?.contains("waiting") == false, "\(tool.shown)")
    }

    @Test("sync under a lock that is never released says from the first second to its end that it waits")
    func neverReleased() async throws {
        try await fill()
        let other = try Connection(path: folder.store)
        try other.execute("BEGIN IMMEDIATE")
        let tool = try start(["sync", "orders", "--wait", "0s"], store: folder.store)
        try await eventually("it waits") { isWaiting(tool) || tool.ended != nil }
        let began = ContinuousClock.now
        try await eventually("it has ended") { tool.ended != nil }
        let took = began.duration(to: .now)
        #expect(tool.ended == 75, "\(tool.shown)")
        // The end comes with the busy budget of 5 s: closing the store does not wait for as long again.
        let longest = tool.shown.matches(of: /waiting (\d+) s for the store/).compactMap { Int($0.output.1) }.max() ?? 0
        #expect(took - .seconds(longest) < .seconds(4), "\(took): \(tool.shown)")
        try other.execute("ROLLBACK")
    }

    /// A pinned list whose page one fails, in the store of the folder.
    private func fill() async throws {
        let origin = DemoOrigin(count: 300)
        try await withOrigin(origin) { root in
            let first = try await folder.tool(["sync", "\(root)/items", "--key", "orders"])
            #expect(first.status == 0)
        }
        #expect(try await folder.tool(["sync", "orders", "--wait", "0s", "-q"]).status == 75)
        #expect(try await folder.tool(["pin", "orders"]).status == 0)
        // The page is due now, so that --due has work.
        #expect(try await folder.tool(["retry", "--no-run"]).status == 0)
    }

    @Test(
        "The words about a server name its host and port, and no password",
        arguments: [
            ("postgres://me:secret@db.example.com:5433/cache", "waiting for the server at db.example.com:5433"),
            ("postgres://127.0.0.1/cache?sslmode=disable", "waiting for the server at 127.0.0.1"),
            ("postgres:///cache", "waiting for the server of postgres:///cache"),
        ])
    func server(address: String, words: String) {
        #expect(StorePlace(address).serverWait == words)
        #expect(StorePlace("/tmp/store.sqlite").serverWait == nil)
    }

    #if PostgreSQL
    @Test("A command whose server refuses connections says what it waits for", arguments: ["list", "doctor"])
    func refused(command: String) async throws {
        // The port of an origin that has ended refuses connections.
        let root = try await withOrigin(DemoOrigin(count: 1)) { $0 }
        let host = root.replacing("http://", with: "")
        let tool = try start([command], store: "postgres://me@\(host)/cache")
        let line = "waiting for the server at \(host)"
        try await eventually("the line is there") { tool.shown.contains(line) || tool.ended != nil }
        #expect(tool.shown.contains(line), "\(tool.shown)")
        // A busy machine may look at the output only after the 30 s for which the tool waits: it has ended then.
        if tool.ended == nil { tool.signal(SIGKILL) }
        try await eventually("it has ended") { tool.ended != nil }
    }
    #endif
}
#endif
