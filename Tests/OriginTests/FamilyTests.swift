#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

extension OriginTests {
    /// Servers of other families, as a person uses the tool with them: a plain URL, and a credential where one is needed.
    @Suite("Real origins of other families")
    struct FamilyTests {
        private let folder = Folder()

        private func sync(_ origin: FamilyOrigin, _ options: [String] = []) async throws -> [String: Any] {
            let ended = try await folder.tool(
                ["sync", origin.url, "--json"] + origin.options + options, environment: origin.environment)
            #expect(ended.status == 0, "\(ended.errors)")
            return ended.json
        }

        private func shown(_ origin: FamilyOrigin) async throws -> [[String: Any]] {
            try await folder.tool(["show", origin.url, "--json"]).jsonArray
        }

        /// Compares the stored list with the whole list of the server.
        private func expectSame(_ origin: FamilyOrigin, _ note: Comment) async throws {
            let walked = try origin.comparable(try await origin.walk())
            #expect(try origin.comparable(try await shown(origin)) == walked, note)
        }

        @Test(
            "A list of another family is killed, resumed, compared with what the server was given, changed and repaired",
            .enabled(if: !FamilyOrigin.expected.isEmpty), .timeLimit(.minutes(20)), arguments: FamilyOrigin.expected)
        func life(origin: FamilyOrigin) async throws {
            let url = try origin.url
            // A slow first sync is killed once some pages are stored.
            let first = try await Tool.start(
                ["sync", url, "--store", folder.store, "--rate", "1/s"] + origin.options,
                environment: origin.environment)
            try await eventuallyAwaiting("some pages are stored") { try await shown(origin).count >= 75 }
            first.signal(SIGKILL)
            // On a busy machine the pages may be seen only when the sync has ended.
            let status = try await first.ended().status
            #expect(status == SIGKILL || status == 0)
            let held = try await shown(origin).count
            #expect((75...origin.given.count).contains(held))

            let resumed = try await sync(origin)
            #expect(resumed["outcome"] as? String == "complete")
            #expect(resumed["paging"] as? String == origin.style)
            let walked = try await origin.walk()
            #expect(walked.compactMap(origin.name) == origin.given)
            #expect(try await shown(origin).compactMap(origin.name) == origin.given)
            try await expectSame(origin, "after the first sync")
            let pages = (walked.count + 24) / 25
            // Page one, the pages in flight, and the confirmation of a list without a total.
            #expect(try #require(resumed["requests"] as? Int) <= pages - held / 25 + 6)

            let unchanged = try await sync(origin)
            #expect(unchanged["outcome"] as? String == "complete")
            #expect(try #require(unchanged["requests"] as? Int) <= origin.unchanged)

            // An insert at the head, a delete in the middle, and an edit in page one.
            try await origin.insert()
            try await origin.remove(walked[walked.count / 2])
            try await origin.edit(walked[3])
            let changed = try await sync(origin)
            #expect(changed["outcome"] as? String == "complete")
            #expect(try #require(changed["requests"] as? Int) <= pages)
            try await expectSame(origin, "after changes")

            // An edit in the middle changes neither page one nor a total. A sweep finds it.
            try await origin.edit(walked[walked.count / 2 + 30])
            let swept = try await sync(origin, ["--sweep"])
            #expect(swept["outcome"] as? String == "complete")
            #expect(try #require(swept["requests"] as? Int) <= pages + 2 + max(2, origin.unchanged))
            try await expectSame(origin, "after a sweep")
        }
    }
}
#endif
