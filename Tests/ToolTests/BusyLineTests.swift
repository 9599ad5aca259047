#if Tool
import Dispatch
import Foundation
import ProgramSupport
import StorageSupport
import Synchronization
import Testing
import ToolSupport
@testable import pagecache

@Suite("The line of work without countable steps")
struct BusyLineTests {
    private let folder = Folder()

    @Test("Work shows its name and its time after two seconds")
    func text() {
        #expect(BusyLine.text("removing 1 query", after: .milliseconds(1_999)) == nil)
        #expect(BusyLine.text("removing 1 query", after: .seconds(2)) == "removing 1 query · 2 s")
        #expect(BusyLine.text("removing 1 query", after: .seconds(180)) == "removing 1 query · 3 min")
    }

    @Test("Work that waits for the lock of another process says so after a second, and not that it works")
    func waiting() {
        func text(_ time: Int, _ wait: Int) -> String? {
            BusyLine.text("removing 1 query", after: .milliseconds(time), storeWait: .milliseconds(wait))
        }
        #expect(text(999, 999) == nil)
        #expect(text(1_000, 1_000) == "waiting 1 s for the store")
        #expect(text(9_000, 4_000) == "waiting 4 s for the store")
        #expect(text(9_000, 10) == "removing 1 query · 9 s")
    }

    @Test("A line that appears within the first second has no time")
    func early() {
        func text(_ time: Int) -> String? {
            BusyLine.text("waiting for the server at h", after: .milliseconds(time), quietTime: .milliseconds(500))
        }
        #expect(text(499) == nil)
        #expect(text(500) == "waiting for the server at h")
        #expect(text(1_000) == "waiting for the server at h · 1 s")
    }

    @Test("A line that is being drawn when the work ends is removed after it has been drawn")
    func end() async {
        let drawn = Mutex<[String]>([])
        let (isDrawing, drawing) = AsyncStream<Void>.makeStream()
        let removal = DispatchSemaphore(value: 0)
        await BusyLine.whileDoing("removing 1 query", after: .zero) { line in
            if line.isEmpty {
                removal.signal()
            } else {
                drawing.finish()
                // The removal must not begin while the line is being drawn.
                #expect(removal.wait(timeout: .now() + .milliseconds(50)) == .timedOut)
            }
            drawn.withLock { $0.append(line) }
        } _: {
            for await _ in isDrawing {}
        }
        #expect(drawn.withLock(\.count) >= 2)
        #expect(drawn.withLock(\.last) == "")
    }

    @Test("A purge that waits for another process says so, and removes the line at the end")
    func purge() async throws {
        try await folder.writeListWithGap()
        let mark = "\(folder.path)/locked"
        let holder = try await Program(
            "/usr/bin/env",
            [
                "python3", "-c",
                "import signal, sqlite3; d = sqlite3.connect('\(folder.store)', isolation_level=None); d.execute('BEGIN IMMEDIATE'); open('\(mark)', 'w').close(); signal.pause()",
            ])
        try await eventually("the lock is held") { FileManager.default.fileExists(atPath: mark) }
        let tool = try TerminalProgram(
            Tool.path, ["purge", "list", "--yes", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"])
        try await eventually("the line is there") { tool.shown.contains("waiting") || tool.ended != nil }
        holder.signal(SIGKILL)
        _ = try await holder.ended()
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0, "\(tool.shown)")
        #expect(tool.shown.contains(/waiting \d+ s for the store/), "\(tool.shown)")
        // The line is erased, and the result is the last line.
        let last = tool.shown.components(separatedBy: "\r\u{1b}[K").last ?? ""
        #expect(last.contains("removed 1 query, 1 page") && !last.contains("waiting"), "\(tool.shown)")
    }
}
#endif
