#if Tool
import Foundation
import ProgramSupport
import Testing

/// A third-party server. `Scripts/origins` starts each server, and provides its address in an environment variable.
enum RealOrigin: String, CaseIterable, Sendable {
    case datasette, registry, kinto, ara

    private static let environment = ProcessInfo.processInfo.environment

    /// Whether the tests of this server run. In CI a missing server is a failure. Elsewhere its tests are skipped.
    var isExpected: Bool { RealOrigin.environment[variable] != nil || RealOrigin.environment["CI"] != nil }

    /// Returns the servers among these whose tests run.
    static func expected(_ origins: RealOrigin...) -> [RealOrigin] { origins.filter(\.isExpected) }
    static var expected: [RealOrigin] { allCases.filter(\.isExpected) }

    /// The number of requests for detection on first contact: a probe of offsets for a chain with a total, or a HEAD.
    var firstContact: Int { self == .ara ? 0 : 1 }

    var url: String { get throws { try RealOrigin.value(of: variable) } }

    private var variable: String { "PAGECACHE_\(rawValue.uppercased())" }

    private static func value(of variable: String) throws -> String {
        try #require(environment[variable], "\(variable) is not set: Scripts/origins did not start that server")
    }

    // MARK: Reading

    /// Fetches all answers by curl from page one, or from `first`, until there is no next URL.
    func walk(from first: String? = nil) async throws -> [[String: Any]] {
        var answers: [[String: Any]] = []
        var url: String? = try first ?? self.url
        while let asked = url {
            let text = try await curl(["-i", asked])
            let split = try #require(text.range(of: "\r\n\r\n"))
            let body = Data(text[split.upperBound...].utf8)
            let answer = try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
            answers.append(answer)
            url = next(answer, text[..<split.lowerBound].split(whereSeparator: \.isNewline), URL(string: asked))
        }
        return answers
    }

    /// Returns the next URL of an answer.
    private func next(_ body: [String: Any], _ headers: [Substring], _ asked: URL?) -> String? {
        switch self {
        case .datasette:
            return body["next_url"] as? String
        case .ara:
            return body["next"] as? String
        case .kinto:
            return headers.first { $0.lowercased().hasPrefix("next-page:") }
                .map { $0.dropFirst("next-page:".count).trimmingCharacters(in: .whitespaces) }
        case .registry:
            return headers.first { $0.lowercased().hasPrefix("link:") }
                .flatMap { $0.split(separator: "<").last?.split(separator: ">").first }
                .flatMap { URL(string: String($0), relativeTo: asked)?.absoluteString }
        }
    }

    /// Returns the ids of the items in these answers, in order.
    func ids(in answers: [[String: Any]]) -> [String] {
        let member =
            switch self {
            case .datasette: "rows"
            case .registry: "repositories"
            case .kinto: "data"
            case .ara: "results"
            }
        return answers.flatMap { ids(of: $0[member] as? [Any] ?? []) }
    }

    /// Returns the ids of items from their original bytes.
    func ids(of payloads: some Collection<[UInt8]>) throws -> [String] {
        var text = Data("[".utf8)
        for payload in payloads {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text.append(contentsOf: payload)
        }
        text.append(UInt8(ascii: "]"))
        return ids(of: try #require(try JSONSerialization.jsonObject(with: text) as? [Any]))
    }

    private func ids(of items: [Any]) -> [String] {
        // Items of the registry are their own ids.
        items.compactMap { item in item as? String ?? (item as? [String: Any])?["id"].map { "\($0)" } }
    }

    // MARK: Changing

    /// Runs SQL (`INSERT`, `DELETE`) on the file that datasette serves.
    static func editPackages(_ script: String) async throws {
        let database = try value(of: "PAGECACHE_DATASETTE_DATABASE")
        let program = "import sqlite3; d = sqlite3.connect('\(database)'); d.executescript(\"\(script)\"); d.commit()"
        #expect(try await Program.run("/usr/bin/python3", ["-c", program]).status == 0)
    }

    /// Adds a record at the front of Kinto's list.
    static func addRecord(_ id: String) async throws {
        _ = try await RealOrigin.kinto.curl(
            ["-f", "-X", "PUT", "-H", "Content-Type: application/json", "-d", "{}", "\(RealOrigin.kinto.url)/\(id)"])
    }

    static func removeRecord(_ id: String) async throws {
        _ = try await RealOrigin.kinto.curl(["-f", "-X", "DELETE", "\(RealOrigin.kinto.url)/\(id)"])
    }

    private func curl(_ arguments: [String]) async throws -> String {
        let ended = try await Program.run("/usr/bin/curl", ["-sS"] + arguments)
        #expect(ended.status == 0)
        return ended.output
    }
}
#endif
