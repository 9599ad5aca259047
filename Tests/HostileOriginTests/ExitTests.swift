#if Tool
import HostileOrigin
import PageModel
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// The result of `pagecache sync` with a misbehaving origin as a script sees it: the exit code, and one line of
/// explanation.
@Suite("A hostile origin: exit codes of the tool")
struct ExitTests {
    /// The troubles without those that need low limits. The tool has no options for limits of size and uses the
    /// defaults.
    static let troubles = Trouble.all.filter { !$0.needsLowLimits }

    @Test(
        "A failed first sync ends with 65, 69 or 77 and one line, and creates no store", .timeLimit(.minutes(20)),
        arguments: troubles)
    func nothingCached(trouble: Trouble) async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/list", trouble.behaviour(bench.strangerRoot))
            let timeout = trouble.isEndless ? ["--timeout", "300ms"] : []
            let ended = try await bench.sync(["--quiet"] + ToolBench.places + timeout)
            #expect(codes(trouble, cached: false).contains(ended.status), "\(ended.status): \(ended.errors)")
            // An error inside an answer with status 200 also causes a warning with the origin's own words.
            let lines = ended.errors.split(separator: "\n").filter { !$0.hasPrefix("pagecache: warning: ") }
            #expect(lines.count == 1, "\(ended.errors)")
            #expect(ended.errors.hasPrefix("pagecache: "))
            #expect(ended.output.isEmpty)
            #expect(bench.folder.contents == [])
            bench.expectPrintable(ended)
        }
    }

    @Test(
        "An error in an answer with a status of success is printed once in the origin's own words, also with --quiet",
        .timeLimit(.minutes(20)), arguments: [[], ["--quiet"]] as [[String]])
    func errorInside(options: [String]) async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/list", .answer(.json(#"{"error":"quota exceeded","items":[]}"#)))
            let ended = try await bench.sync(options)
            #expect(ended.status == 65, "\(ended.errors)")
            let warnings = ended.errors.split(separator: "\n").filter { $0.hasPrefix("pagecache: warning: ") }
            #expect(
                warnings == ["pagecache: warning: the origin answered 200 with an error: quota exceeded"],
                "\(ended.errors)")
            // Nothing is stored as an empty list.
            #expect(bench.folder.contents == [])
        }
    }

    static let chosen =
        [
            Trouble.silences[0], Trouble.brokenMessages[5], Trouble.oversized[5], Trouble.bodies[0],
            Trouble.redirects[0],
            Trouble.nextLinks[0],
        ] + Trouble.statuses.filter { [401, 404, 429, 503].contains($0.status) }

    @Test(
        "A failed sync of a cached list ends with 65, 75 or 77, show prints the items byte for byte, and verify finds no damage",
        .timeLimit(.minutes(20)), arguments: chosen)
    func somethingCached(trouble: Trouble) async throws {
        try await ToolBench.run { bench in
            let good = try await bench.sync(ToolBench.places)
            #expect(good.status == 0, "\(good.errors)")
            let items = (1...6).map(GoodList.item)
            #expect(try await bench.shown() == items)

            bench.origin.set("/list", trouble.behaviour(bench.strangerRoot))
            let timeout = trouble.isEndless ? ["--timeout", "300ms"] : []
            let ended = try await bench.sync(["--quiet"] + ToolBench.places + timeout)
            #expect(codes(trouble, cached: true).contains(ended.status), "\(ended.status): \(ended.errors)")
            #expect(ended.errors.split(separator: "\n").count == 1, "\(ended.errors)")
            bench.expectPrintable(ended)

            #expect(try await bench.shown() == items)
            #expect(try await Tool.run(["verify", "--store", bench.folder.store]).status == 0)
            let pages = try await Tool.run(["pages", bench.list, "--store", bench.folder.store, "--json"])
            let failing = pages.jsonArray.filter { ($0["state"] as? String)?.hasPrefix("failed") == true }
            #expect(failing.count == 1 && failing.first?["offset"] as? Int == 0)
            #expect(trouble.classes.map(\.rawValue).contains(failing.first?["error_class"] as? String ?? ""))
            // A random pause may have allowed an immediate retry.
            #expect(failing.first?["attempts"] as? Int ?? 0 >= 1)
            bench.expectPrintable(pages)
        }
    }

    @Test(
        "A sync of a circular list ends with 75 and keeps the fetched items", .timeLimit(.minutes(20)),
        arguments: PagingTests.circles
    )
    func circle(circle: PagingTests.Circle) async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/list", circle.withPageOne)
            let ended = try await bench.sync(ToolBench.places + ["--json"])
            #expect(ended.status == 75, "\(ended.status): \(ended.errors)")
            #expect((ended.json["failures"] as? [[String: Any]])?.first?["error_class"] as? String == "loop")
            #expect(try await bench.shown() == (1...circle.items).map(GoodList.item))
            #expect(bench.origin.requests.count <= circle.mostRequests)
        }
    }

    private func codes(_ trouble: Trouble, cached: Bool) -> Set<Int32> {
        if trouble.classes == [.forbidden] { return [77] }
        switch trouble.isRetryable {
        case true: return cached ? [75] : [69]
        case false: return [65]
        case nil: return cached ? [65, 75] : [65, 69]
        }
    }
}
#endif
