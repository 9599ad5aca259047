#if Tool
import Foundation
import ProgramSupport
import Testing

/// A list of a third-party server of another family of APIs. `Scripts/origins` fills each list from scratch.
enum FamilyOrigin: String, CaseIterable, Sendable {
    /// SAFRS: things, the newest first.
    case jsonapi
    /// pygeoapi: lakes in the order of their file.
    case ogc
    /// Synapse: the events of a room, the newest first.
    case matrix
    /// Synapse: users by name.
    case matrixUsers

    private static let environment = ProcessInfo.processInfo.environment

    var isExpected: Bool { FamilyOrigin.environment[variable] != nil || FamilyOrigin.environment["CI"] != nil }
    static var expected: [FamilyOrigin] { allCases.filter(\.isExpected) }

    private var variable: String {
        switch self {
        case .jsonapi: "PAGECACHE_JSONAPI"
        case .ogc: "PAGECACHE_OGC"
        case .matrix: "PAGECACHE_MATRIX"
        case .matrixUsers: "PAGECACHE_MATRIX_USERS"
        }
    }

    var url: String { get throws { try FamilyOrigin.value(of: variable) } }

    private static func value(of variable: String) throws -> String {
        try #require(environment[variable], "\(variable) is not set: Scripts/origins did not start that server")
    }

    /// The options of the tool for this list.
    var options: [String] {
        switch self {
        case .jsonapi, .ogc: []
        case .matrix, .matrixUsers: ["--bearer-env", "PAGECACHE_MATRIX_TOKEN"]
        }
    }

    /// The environment of the tool.
    var environment: [String: String] {
        get throws {
            options.isEmpty
                ? [:] : ["PAGECACHE_MATRIX_TOKEN": try FamilyOrigin.value(of: "PAGECACHE_MATRIX_TOKEN")]
        }
    }

    /// What the tool detects.
    var style: String { self == .matrix ? "cursor" : "offset" }

    /// The largest number of requests of a synchronisation of the unchanged list. The room states no total, and its last
    /// page has a token to an empty page, so both are requested as the check of the end (R24).
    var unchanged: Int { self == .matrix ? 3 : 1 }

    // MARK: Reading

    /// The names that `Scripts/origins` gave the items, in the order of the list.
    var given: [String] {
        func numbered(_ format: String, _ numbers: any Sequence<Int>) -> [String] {
            numbers.map { String(format: format, $0) }
        }
        return switch self {
        case .jsonapi: numbered("thing-%04d", (1...340).reversed())
        case .ogc: numbered("Lake %d", 1...320)
        case .matrix: numbered("message %04d", (1...150).reversed())
        case .matrixUsers: ["admin"] + numbered("User %d", 1...300)
        }
    }

    /// The name of an item, as `Scripts/origins` gave it. Returns nil for the events that begin a room.
    func name(of item: [String: Any]) -> String? {
        func member(_ object: String, _ name: String) -> String? { (item[object] as? [String: Any])?[name] as? String }
        return switch self {
        case .jsonapi: member("attributes", "name")
        case .ogc: member("properties", "name")
        case .matrix: member("content", "body")
        case .matrixUsers: item["displayname"] as? String
        }
    }

    /// Fetches the whole list by curl, page by page, as the specification of its family says.
    func walk() async throws -> [[String: Any]] {
        var items: [[String: Any]] = []
        let start = try url
        var next: String? = start
        while let asked = next {
            let answer = try await curl([asked])
            let page: [[String: Any]]?
            switch self {
            case .jsonapi:
                page = answer["data"] as? [[String: Any]]
                // The links of SAFRS end one page before its total.
                next = page?.count == 25 ? "\(start)&page[offset]=\(items.count + 25)" : nil
            case .ogc:
                page = answer["features"] as? [[String: Any]]
                let links = answer["links"] as? [[String: Any]] ?? []
                next = links.first { $0["rel"] as? String == "next" }?["href"] as? String
            case .matrix:
                page = answer["chunk"] as? [[String: Any]]
                next = page?.isEmpty == false ? (answer["end"] as? String).map { "\(start)&from=\($0)" } : nil
            case .matrixUsers:
                page = answer["users"] as? [[String: Any]]
                next = (answer["next_token"] as? String).map { start.replacing("from=0", with: "from=\($0)") }
            }
            items += try #require(page, "\(asked): \(answer)")
        }
        return items
    }

    /// The items as text to compare, without the members that change from answer to answer.
    func comparable(_ items: [[String: Any]]) throws -> [String] {
        try items.map { item in
            let data = try JSONSerialization.data(withJSONObject: FamilyOrigin.lasting(item), options: .sortedKeys)
            return String(decoding: data, as: UTF8.self)
        }
    }

    private static func lasting(_ object: [String: Any]) -> [String: Any] {
        object.filter { !["age", "last_seen_ts"].contains($0.key) }
            .mapValues { value in (value as? [String: Any]).map(lasting) ?? value }
    }

    // MARK: Changing

    /// Adds an item at the head of the list.
    func insert() async throws {
        switch self {
        case .jsonapi: try await change("POST", "Things", #"{"data":{"type":"Thing","attributes":{"name":"new"}}}"#)
        case .ogc:
            let lake = #"{'type': 'Feature', 'id': 'new', 'geometry': None, 'properties': {'name': 'new'}}"#
            try await editLakes("lakes.insert(0, \(lake))")
        case .matrix:
            let path = try room() + "/send/m.room.message/\(UUID().uuidString)"
            try await change("PUT", path, #"{"msgtype":"m.text","body":"new"}"#)
        case .matrixUsers:
            try await change("PUT", "_synapse/admin/v2/users/@a:loopback.test", #"{"displayname":"new"}"#)
        }
    }

    /// Removes an item, where the family has a way to do so: the events of a room stay.
    func remove(_ item: [String: Any]) async throws {
        switch self {
        case .jsonapi: try await change("DELETE", "Things/\(id(of: item))/")
        case .ogc: try await editLakes("lakes[:] = [lake for lake in lakes if lake['id'] != '\(id(of: item))']")
        case .matrix: break
        case .matrixUsers: try await change("POST", "_synapse/admin/v1/deactivate/\(id(of: item))", "{}")
        }
    }

    /// Edits an item in its place. A redaction removes the content of an event, and is a new event itself.
    func edit(_ item: [String: Any]) async throws {
        let id = id(of: item)
        switch self {
        case .jsonapi:
            try await change(
                "PATCH", "Things/\(id)/", #"{"data":{"type":"Thing","id":"\#(id)","attributes":{"name":"edited"}}}"#)
        case .ogc:
            try await editLakes("[l['properties'].update(name='edited') for l in lakes if l['id'] == '\(id)']")
        case .matrix: try await change("PUT", try room() + "/redact/\(id)/\(UUID().uuidString)", "{}")
        case .matrixUsers: try await change("PUT", "_synapse/admin/v2/users/\(id)", #"{"displayname":"edited"}"#)
        }
    }

    private func id(of item: [String: Any]) -> String {
        let id = item["id"] ?? item["event_id"] ?? item["name"]
        return (id as? String)?.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    /// The path of the room.
    private func room() throws -> String {
        let path = try url.split(separator: "/", maxSplits: 2)[2]
        return String(path.prefix { $0 != "?" }.dropLast("/messages".count))
    }

    private func change(_ method: String, _ path: String, _ body: String? = nil) async throws {
        let root = try url.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//")
        let type = self == .jsonapi ? "application/vnd.api+json" : "application/json"
        let data = body.map { ["-H", "Content-Type: \(type)", "-d", $0] } ?? []
        _ = try await curl(["-f", "-X", method] + data + ["\(root)/\(path)"], readsJSON: false)
    }

    /// Runs a statement on the list of lakes, and replaces the file in one step.
    private func editLakes(_ statement: String) async throws {
        let file = try FamilyOrigin.value(of: "PAGECACHE_OGC_FILE")
        let program = """
            import json, os
            whole = json.load(open('\(file)'))
            lakes = whole['features']
            \(statement)
            json.dump(whole, open('\(file).new', 'w'))
            os.replace('\(file).new', '\(file)')
            """
        #expect(try await Program.run("/usr/bin/python3", ["-c", program]).status == 0)
    }

    private func curl(_ arguments: [String], readsJSON: Bool = true) async throws -> [String: Any] {
        var authorization: [String] = []
        for token in try environment.values { authorization = ["-H", "Authorization: Bearer \(token)"] }
        let ended = try await Program.run("/usr/bin/curl", ["-sSg"] + authorization + arguments)
        #expect(ended.status == 0, "\(arguments): \(ended.errors)")
        return readsJSON ? ended.json : [:]
    }
}
#endif
