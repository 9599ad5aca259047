#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

// The tool, the origin or the reader of the output ends in the middle (R14, R31).
extension ToolTests {
    @Test(
        "After kill -9 the next run fetches page one and the pages that were not committed, and no others (R31)",
        arguments: [
            "items", "pages", "linked", "feed",
        ])
    func killAndResume(path: String) async throws {
        let committed = 12
        // The origin holds all requests from the thirteenth on. These are in flight when the tool dies.
        let origin = DemoOrigin(count: 3_000) { number, _ in number > committed ? .hold : nil }
        try await withOrigin(origin) { root in
            let url = "\(root)/\(path)"
            let first = try await Tool.start(["sync", url, "--store", folder.store, "--overlap", "0"])
            let isChain = path == "linked" || path == "feed"
            try await eventually("everything that may be in flight is") { origin.held >= (isChain ? 1 : 4) }
            let inFlight = Set(origin.requests.dropFirst(committed))
            #expect(inFlight.count == (isChain ? 1 : 4))
            // One request for a chain was a probe of its paging.
            let stored = isChain ? committed - 1 : committed
            // The next requests are sent while the last answered page is stored.
            try await eventuallyAwaiting("what was answered is stored") {
                try await shownIDs(folder, url).count >= stored * 100
            }
            first.signal(SIGKILL)
            #expect(try await first.ended().status == SIGKILL)

            // Meanwhile the tool is offline, and serves whole committed pages.
            let served = try await shownIDs(folder, url)
            #expect(served.count == stored * 100)
            #expect(Set(served).isSubset(of: Set(origin.ids)))
            let pages = try await Tool.run(["pages", url, "--store", folder.store, "--json"]).jsonArray
            // By position, the last commit also took the leases of the next four pages (Decision 0007).
            #expect(pages.count { $0["state"] as? String == "in_flight" } == (isChain ? 1 : 8))

            let why = try await Tool.run(["why", url, "--store", folder.store, "--json"]).output
            #expect(why.contains("ended while it fetched"), "\(why)")
            #expect(!why.contains("If its process dies"), "\(why)")

            origin.release()
            let before = origin.requests.count
            let answered = Set(origin.requests.prefix(committed))
            let second = try await sync(url, ["--overlap", "0"])
            #expect(second.status == 0, "\(second.errors)")
            #expect(second.json["reconciliation"] as? String == "resumed")
            let asked = origin.requests.dropFirst(before)
            // Page one confirms a walk without a total.
            let confirmations = path == "linked" ? 1 : 0
            #expect(asked.count == 1 + (30 - stored) + confirmations)
            #expect(
                Set(asked.dropFirst().dropLast(confirmations)).isDisjoint(with: answered),
                "a committed page was fetched again")
            #expect(second.json["pages_kept"] as? Int == stored - 1)
            #expect(try await shownIDs(folder, url) == origin.ids)
        }
    }

    @Test("Without the origin show and list work, sync ends with 75 and one line, and the list is unchanged (R14)")
    func offline() async throws {
        let origin = DemoOrigin(count: 250)
        let url = try await withOrigin(origin) { (root: String) async throws -> String in
            let url = "\(root)/items"
            #expect(try await sync(url).status == 0)
            return url
        }
        let ended = try await Tool.run(["sync", url, "--store", folder.store, "--quiet"])
        #expect(ended.status == 75)
        #expect(ended.errors.split(separator: "\n").count == 1)
        #expect(ended.errors.contains("connection refused"))
        #expect(ended.errors.contains("250 cached items"))
        let json = try await sync(url)
        #expect(json.status == 75)
        #expect(json.json["outcome"] as? String == "offline")
        #expect(json.json["items"] as? Int == 250)
        #expect((json.json["failures"] as? [[String: Any]])?.first?["error_class"] as? String == "transport")
        #expect(try await Tool.run(["list", "--store", folder.store]).status == 0)
        #expect(try await shownIDs(folder, url) == origin.ids)
        let untouched = try await Tool.run(["sync", url, "--offline", "--store", folder.store, "--json"])
        #expect(untouched.status == 0)
        #expect(untouched.json["requests"] as? Int == 0)
    }

    @Test(
        "SIGINT and SIGTERM end a run before its held answers, with their own code, and keep the fetched pages",
        arguments: [SIGINT, SIGTERM])
    func signals(number: Int32) async throws {
        let origin = DemoOrigin.holding(from: 600)
        try await withOrigin(origin) { root in
            let tool = try await Tool.start(["sync", "\(root)/items", "--store", folder.store, "--overlap", "0"])
            try await eventually("it waits for four pages") { origin.held == 4 }
            let asked = ContinuousClock.now
            tool.signal(number)
            let ended = try await tool.ended()
            #expect(ended.status == 128 + number)
            // Next to hundreds of other tests a second may become many. Waiting for the held answers would take a
            // minute.
            #expect(ContinuousClock.now - asked < .seconds(55))
            #expect(try await shownIDs(folder, "\(root)/items").count == 600)
            let pages = try await Tool.run(["pages", "\(root)/items", "--store", folder.store, "--json"]).jsonArray
            #expect(pages.count { $0["state"] as? String == "in_flight" } == 0)
        }
    }

    @Test("A closed pipe of show is not an error")
    func brokenPipe() async throws {
        let origin = DemoOrigin(count: 3_000)
        try await withOrigin(origin) { root in
            _ = try await sync("\(root)/items")
            let command = "'\(Tool.path)' show '\(root)/items' --store '\(folder.store)' | head -n 1 >/dev/null"
            #expect(try await Program.run("/bin/sh", ["-c", command]).errors.isEmpty)
        }
    }

    /// Runs the tool with a descriptor whose reader has ended, or that is closed.
    private func run(_ arguments: String, _ redirection: String) async throws -> Program.Ended {
        let pipe = "\(folder.path)/pipe-\(UUID())"
        let command = """
            mkfifo '\(pipe)'; exec 3<>'\(pipe)'; exec 4>'\(pipe)'; exec 3<&-
            '\(Tool.path)' \(arguments) --store '\(folder.store)' \(redirection)
            """
        return try await Program.run("/bin/sh", ["-c", command])
    }

    @Test(
        "Messages that cannot be written change neither the work nor the exit code",
        arguments: ["2>&4", "2>&-", "2>/dev/full"])
    func messagesWithoutReader(redirection: String) async throws {
        let origin = DemoOrigin(count: 300)
        try await withOrigin(origin) { root in
            let ended = try await run("sync '\(root)/items' --verbose --json", redirection)
            #expect(ended.status == 0)
            #expect(ended.json["items"] as? Int == 300)
            #expect(try await run("show nothing", redirection).status == 66)
            #expect(try await run("list --wrong", redirection).status == 64)
        }
    }

    @Test("A synchronisation goes on after the reader of its output has ended")
    func syncWithoutReader() async throws {
        let origin = DemoOrigin(count: 300)
        try await withOrigin(origin) { root in
            #expect(try await run("sync '\(root)/items'", ">&4").status == 0)
            #expect(try await shownIDs(folder, "\(root)/items").count == 300)
            let ended = try await run("sync '\(root)/nothing'", ">&4")
            #expect(ended.status != 0 && !ended.errors.isEmpty)
        }
    }
}
#endif
