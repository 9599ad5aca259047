#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Synchronizes from third-party servers. `Scripts/origins` starts them and prints their addresses. Without them the
/// tests are skipped, except in CI, where a missing server is a failure.
@Suite("Real origins", .serialized)
struct OriginTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "pagecache-test-\(UUID().uuidString)"
    ).path

    private func tool(_ arguments: [String]) async throws -> (status: Int32, output: Data) {
        let ended = try await Program.run(Tool.path, arguments + ["--store", "\(folder)/store.sqlite"])
        return (ended.status, Data(ended.output.utf8))
    }

    private func sync(_ url: String) async throws -> [String: Any] {
        let (status, output) = try await tool(["sync", url, "--json"])
        #expect(status == 0)
        return try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
    }

    private func shown(_ url: String) async throws -> [Any] {
        let (status, output) = try await tool(["show", url, "--json"])
        #expect(status == 0)
        return try #require(try JSONSerialization.jsonObject(with: output) as? [Any])
    }

    @Test(
        "sync of Debian's packages from datasette matches a traversal by curl, then takes one request, and then finds an insertion",
        .enabled(if: RealOrigin.datasette.isExpected))
    func datasette() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try RealOrigin.datasette.url
        let result = try await sync(url)
        #expect(result["outcome"] as? String == "complete")
        let walked = try await RealOrigin.datasette.walk()
        let expected = walked.flatMap { ($0["rows"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int } }
        #expect(expected.count > 10_000)
        #expect(result["items"] as? Int == expected.count)
        // One more request is a probe of offsets.
        #expect(result["requests"] as? Int == walked.count + 1)
        #expect(try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? Int } == expected)

        let again = try await sync(url)
        #expect(again["requests"] as? Int == 1)
        #expect(again["reconciliation"] as? String == "unchanged")

        // One package is added at the front, and one of page one is removed.
        let (added, removed) = (expected[0] - 1, expected[17])
        try await RealOrigin.editPackages(
            "INSERT INTO packages (id, package) VALUES (\(added), 'aaa-new'); DELETE FROM packages WHERE id = \(removed);"
        )
        let changed = try await sync(url)
        #expect(changed["requests"] as? Int == 1)
        #expect(changed["reconciliation"] as? String == "shifted")
        #expect(
            try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? Int } == [added]
                + expected.filter { $0 != removed })
    }

    @Test(
        "The catalogue of docker-registry is fetched: plain strings with a relative Link header",
        .enabled(if: RealOrigin.registry.isExpected))
    func registry() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try RealOrigin.registry.url
        let result = try await sync(url)
        #expect(result["paging"] as? String == "link")
        let walked = try await RealOrigin.registry.walk()
        let expected = walked.flatMap { $0["repositories"] as? [String] ?? [] }
        #expect(expected.count == 1_234)
        #expect(try await shown(url) as? [String] == expected)
        // One more request is a HEAD, which returns no total, and one confirms the walk with page one.
        #expect(result["requests"] as? Int == walked.count + 2)
        // Without a total the run fetches page one and the last page to see whether the list has grown.
        #expect(try await sync(url)["requests"] as? Int == 2)
    }

    @Test(
        "Kinto is fetched: an opaque token in a custom header, and no total in the body",
        .enabled(if: RealOrigin.kinto.isExpected)
    )
    func kinto() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try RealOrigin.kinto.url
        let result = try await sync(url)
        let walked = try await RealOrigin.kinto.walk()
        let expected = walked.flatMap { ($0["data"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String } }
        #expect(expected.count == 330)
        #expect(try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? String } == expected)
        // One more request is the HEAD that returns the total.
        #expect(result["requests"] as? Int == walked.count + 1)
        #expect(result["total"] as? Int == 330)
    }

    @Test(
        "ARA (Django REST Framework) is fetched by limit and offset in parallel",
        .enabled(if: RealOrigin.ara.isExpected))
    func ara() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try RealOrigin.ara.url
        let result = try await sync(url)
        #expect(result["paging"] as? String == "offset")
        let walked = try await RealOrigin.ara.walk()
        let expected = walked.flatMap { ($0["results"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int } }
        #expect(expected.count == 350)
        #expect(try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? Int } == expected)
        #expect(result["requests"] as? Int == walked.count)
    }
}
#endif
