#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Syncs from servers that nobody here wrote. `Scripts/origins` starts them and says where they are; without them the
/// tests are skipped, except in CI, where a server that is missing is a failure.
@Suite("Real origins", .serialized)
struct OriginTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isCI = environment["CI"] != nil
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pagecache-test-\(UUID().uuidString)").path

    private static func has(_ name: String) -> Bool { environment[name] != nil || isCI }

    private func url(_ name: String) throws -> String {
        try #require(OriginTests.environment[name], "\(name) is not set: Scripts/origins did not start that server")
    }

    private func run(_ program: String, _ arguments: [String]) async throws -> (status: Int32, output: Data) {
        let ended = try await Program.run(program, arguments)
        return (ended.status, Data(ended.output.utf8))
    }

    private func tool(_ arguments: [String]) async throws -> (status: Int32, output: Data) {
        try await run(Tool.path, arguments + ["--store", "\(folder)/store.sqlite"])
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

    /// A plain walk by curl: every answer, followed by what `next` makes of body and headers until there is no more.
    private func walk(_ first: String, _ next: ([String: Any], String) -> String?) async throws -> [[String: Any]] {
        var answers: [[String: Any]] = []
        var url: String? = first
        while let asked = url {
            let (status, output) = try await run("/usr/bin/curl", ["-sS", "-i", asked])
            #expect(status == 0)
            let text = String(decoding: output, as: UTF8.self)
            let split = try #require(text.range(of: "\r\n\r\n"))
            let body = try #require(try JSONSerialization.jsonObject(with: Data(text[split.upperBound...].utf8)) as? [String: Any])
            answers.append(body)
            url = next(body, String(text[..<split.lowerBound]))
        }
        return answers
    }

    @Test("datasette with Debian's package list: every id that a walk by curl finds; then one request; then an insert",
        .enabled(if: has("PAGECACHE_DATASETTE")))
    func datasette() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try url("PAGECACHE_DATASETTE")
        let result = try await sync(url)
        #expect(result["outcome"] as? String == "complete")
        let walked = try await walk(url) { body, _ in body["next_url"] as? String }
        let expected = walked.flatMap { ($0["rows"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int } }
        #expect(expected.count > 10_000)
        #expect(result["items"] as? Int == expected.count)
        #expect(result["requests"] as? Int == walked.count)
        #expect(try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? Int } == expected)

        let again = try await sync(url)
        #expect(again["requests"] as? Int == 1)
        #expect(again["reconciliation"] as? String == "unchanged")

        // A package is added at the front, and one of page one is taken away.
        let database = try self.url("PAGECACHE_DATASETTE_DATABASE")
        let (added, removed) = (expected[0] - 1, expected[17])
        let script = "INSERT INTO packages (id, package) VALUES (\(added), 'aaa-new'); DELETE FROM packages WHERE id = \(removed);"
        #expect(try await run("/usr/bin/python3", ["-c", "import sqlite3; d = sqlite3.connect('\(database)'); d.executescript(\"\(script)\"); d.commit()"]).status == 0)
        let changed = try await sync(url)
        #expect(changed["requests"] as? Int == 1)
        #expect(changed["reconciliation"] as? String == "shifted")
        #expect(try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? Int } == [added] + expected.filter { $0 != removed })
    }

    @Test("docker-registry's catalogue: plain strings behind a relative Link header", .enabled(if: has("PAGECACHE_REGISTRY")))
    func registry() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try url("PAGECACHE_REGISTRY")
        let root = try #require(URL(string: url))
        let result = try await sync(url)
        #expect(result["paging"] as? String == "link")
        let walked = try await walk(url) { _, headers in
            headers.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("link:") }
                .flatMap { $0.split(separator: "<").last?.split(separator: ">").first }
                .flatMap { URL(string: String($0), relativeTo: root)?.absoluteString }
        }
        let expected = walked.flatMap { $0["repositories"] as? [String] ?? [] }
        #expect(expected.count == 1_234)
        #expect(try await shown(url) as? [String] == expected)
        #expect(result["requests"] as? Int == walked.count)
        // Without a total nobody says whether the list has grown: page one, and the last page.
        #expect(try await sync(url)["requests"] as? Int == 2)
    }

    @Test("Kinto: an opaque token in a header of its own, no total in the body", .enabled(if: has("PAGECACHE_KINTO")))
    func kinto() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try url("PAGECACHE_KINTO")
        let result = try await sync(url)
        let walked = try await walk(url) { _, headers in
            headers.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("next-page:") }
                .map { $0.dropFirst("next-page:".count).trimmingCharacters(in: .whitespaces) }
        }
        let expected = walked.flatMap { ($0["data"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String } }
        #expect(expected.count == 330)
        #expect(try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? String } == expected)
        #expect(result["requests"] as? Int == walked.count)
    }

    @Test("ARA (Django REST Framework): limit and offset, asked for in parallel", .enabled(if: has("PAGECACHE_ARA")))
    func ara() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = try url("PAGECACHE_ARA")
        let result = try await sync(url)
        #expect(result["paging"] as? String == "offset")
        let walked = try await walk(url) { body, _ in body["next"] as? String }
        let expected = walked.flatMap { ($0["results"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int } }
        #expect(expected.count == 350)
        #expect(try await shown(url).compactMap { ($0 as? [String: Any])?["id"] as? Int } == expected)
        #expect(result["requests"] as? Int == walked.count)
    }
}
#endif
