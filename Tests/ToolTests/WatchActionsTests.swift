#if Tool
import PageModel
import StorageSupport
import Testing
import ToolSupport

@testable import PageStore
@testable import pagecache

@Suite("The keys of watch")
struct WatchActionsTests {
    private let folder = Folder()

    @Test("A key without effect says why, and the view goes on while another process holds the write lock")
    func withoutEffect() async throws {
        try await folder.writeListWithGap()
        var options = SQLitePageStore.Options()
        options.busyBudget = .milliseconds(50)
        let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist, options: options)
        let lists = try await store.summaries().map(\.outline)
        let id = try #require(lists.first).record.key.shortID
        var view = WatchView()
        var actions = WatchActions(store: store, opening: folder.store)
        func press(_ key: Character) async throws {
            let goesOn = try await actions.press(.character(key), &view, lists)
            #expect(goesOn)
        }
        try await press("r")
        #expect(view.message == "\(id): no page fails")
        let other = try Connection(path: folder.store)
        try other.execute("BEGIN IMMEDIATE")
        try await press("p")
        #expect(view.message == "pin unchanged: another process is writing; try again · \(id)")
        try other.execute("ROLLBACK")
        try await press("p")
        #expect(view.message == "\(id) is pinned")
        await store.close()
    }

    @Test("The message of a running command says that it waits for the store, and the failure does not repeat that")
    func waiting() {
        let words = StoreWait.text(.seconds(3))
        let message = WatchActions.progress(of: "retry", "2kt6gxhe", wait: words)
        #expect(message == "retry: waiting 3 s for the store (another process is writing) · 2kt6gxhe")
        #expect(WatchActions.progress(of: "retry", "2kt6gxhe", wait: nil) == "2kt6gxhe: retry started")
        let errors = "pagecache: database is locked\n\(StoreWait.line(words))\n\(StoreWait.line(nil))\n"
        let failure = WatchActions.failure(of: "retry", "2kt6gxhe", errors, at: "/w/s.sqlite")
        #expect(failure == "retry failed: database is locked · 2kt6gxhe")
    }

    @Test(
        "The message of a failed command begins with the reason, without the path of the store",
        arguments: [
            (
                "pagecache: warning: x\npagecache: reading or writing /w/a/s.sqlite: database is locked (try again)\n",
                "retry failed: database is locked (try again) · 2kt6gxhe"
            ),
            (
                "pagecache: opening /w/a/s.sqlite: no permission for /w/a/s.sqlite-wal\n",
                "retry failed: no permission for s.sqlite-wal · 2kt6gxhe"
            ),
            (
                "pagecache: there is no store at /w/a/s.sqlite (use --store)\n",
                "retry failed: there is no store at s.sqlite (use --store) · 2kt6gxhe"
            ),
            ("pagecache: incomplete: 3 pages failed\n", "retry failed: incomplete: 3 pages failed · 2kt6gxhe"),
            ("", "retry failed · 2kt6gxhe"),
        ])
    func reason(errors: String, message: String) {
        #expect(WatchActions.failure(of: "retry", "2kt6gxhe", errors, at: "/w/a/s.sqlite") == message)
    }

    @Test("The message of a command that has ended says what it did not do")
    func ending() {
        let errors = "pagecache: no page was retried: 1 page failed permanently; --permanent retries it\n"
        #expect(
            WatchActions.ending(of: "retry", "2kt6gxhe", errors, at: "/w/a/s.sqlite")
                == "retry: no page was retried: 1 page failed permanently; --permanent retries it · 2kt6gxhe")
        #expect(WatchActions.ending(of: "retry", "2kt6gxhe", "", at: "/w/a/s.sqlite") == "2kt6gxhe: retry ended")
    }
}
#endif
