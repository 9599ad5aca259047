#if HTTP
import Foundation
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

/// An origin that returns a different list for each credential.
private struct Accounts: HTTPTransport {
    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        let who = request.headers.first { $0.name == "Authorization" }?.value ?? "nobody"
        let items = (0..<5).map { #"{"id":"\#(who) \#($0)"}"# }.joined(separator: ",")
        return HTTPPageResponse(
            status: 200, headers: [HTTPField("Content-Type", "application/json")],
            body: Array(#"{"items":[\#(items)],"total":5}"#.utf8))
    }
}

@Suite("The owner of a list, for programs that embed the library (R45)")
struct CredentialTests {
    private let storage = MemoryStorage()
    private let clock = ManualClock()

    private func list(_ credential: String?, key: QueryKey = QueryKey("http://h/api")) throws -> PagedList<[UInt8]> {
        var configuration = HTTPSourceConfiguration(url: "http://h/api")
        if let credential { configuration.headers.append(HTTPField("Authorization", credential)) }
        let source = try HTTPSource(configuration, transport: Accounts())
        return ListRepository(
            storage: storage, codec: RawItemCodec(), clock: clock, jitter: { 0.5 }, source: { _ in source }
        ).list(key)
    }

    @Test(
        "A list under its URL belongs to one credential, and another credential neither sees nor changes it",
        arguments: ["B", nil])
    func another(other: String?) async throws {
        let first = try list("A")
        try await first.load()
        #expect(first.current.items.count == 5)
        let second = try list(other)
        let failure = await #expect(throws: ListFailure.self) { try await second.load() }
        #expect(failure?.failure.failureClass == .forbidden)
        #expect(second.current.items.isEmpty && !second.current.isLoaded)
        try await second.load(.cacheOnly)
        #expect(second.current.items.isEmpty)
        try await first.refresh()
        #expect(first.current.items.count == 5)
        #expect(first.current.items.allSatisfy { String(decoding: $0, as: UTF8.self).contains("A ") })
    }

    @Test(
        "Every kind of credential counts: known headers, declared headers, user and password, and parameters",
        arguments: [
            "X-Api-Key", "Api-Key", "X-Auth-Token", "Proxy-Authorization", "Cookie", "Ocp-Apim-Subscription-Key",
            "X-Who", "user", "parameter",
        ])
    func everyCredential(name: String) throws {
        func source(_ value: String) throws -> HTTPSource {
            var configuration = HTTPSourceConfiguration(url: "http://h/api")
            switch name {
            case "user": configuration.url = "http://\(value)@h/api"
            case "parameter": configuration.url = "http://h/api?api_key=\(value)"
            default: configuration.headers = [HTTPField(name, value)]
            }
            configuration.secretHeaders = ["x-who"]
            return try HTTPSource(configuration, transport: Accounts())
        }
        var profile = PagingProfile(
            style: .none, url: "http://h/api", items: try #require(JSONPointer("/items")))
        profile.credential = try source("first").check
        #expect(try !source("first").belongsToAnother(stored: profile.json))
        #expect(try source("second").belongsToAnother(stored: profile.json))
    }

    @Test("The owner of a list persists across a restart, also for a list of one page")
    func restart() async throws {
        try await list("A").load()
        let again = try list("A")
        try await again.load(.cacheOnly)
        #expect(again.current.items.count == 5)
        #expect(try await again.refresh() == .upToDate)
    }

    @Test(
        "A list under its URL whose paging profile a repair has removed is refused to callers that do not rebind it",
        arguments: ["B", nil])
    func lostProfile(credential: String?) throws {
        func source(rebinds: Bool) throws -> HTTPSource {
            var configuration = HTTPSourceConfiguration(url: "http://h/api")
            configuration.headers = credential.map { [HTTPField("Authorization", $0)] } ?? []
            configuration.rebinds = rebinds
            return try HTTPSource(configuration, transport: Accounts())
        }
        func record(_ key: QueryKey, _ paging: String) -> QueryRecord {
            QueryRecord(
                id: QueryID(rawValue: 1), key: key, version: ListVersion(generation: 1, revision: 0), total: .unknown,
                end: nil, validatedAt: nil, createdAt: clock.now(), allowsDuplicates: false, paging: paging, source: "")
        }
        let lost = record("http://h/api", QueryRecord.lostPaging)
        #expect(throws: FetchFailure.self) { try source(rebinds: false).authorize(lost) }
        try source(rebinds: true).authorize(lost)
        try source(rebinds: false).authorize(record("http://h/api", ""))
        try source(rebinds: false).authorize(record("mine", QueryRecord.lostPaging))
    }

    @Test("Pages that were fetched with a credential are not served without one after a repair has removed its check")
    func withoutCredentialAfterRepair() async throws {
        try await list("A").load()
        let record = try #require(try await storage.query(QueryKey("http://h/api")))
        // A repair of the list's record leaves this paging profile.
        let outcome = try await storage.commit(
            CommitPlan(
                query: record.id, version: record.version,
                edits: [.describe(paging: QueryRecord.lostPaging, source: "")]))
        #expect(outcome == .committed(record.version))
        let anonymous = try list(nil)
        try await anonymous.load(.cacheOnly)
        #expect(anonymous.current.items.isEmpty)
        let failure = await #expect(throws: ListFailure.self) { try await anonymous.load() }
        #expect(failure?.failure.failureClass == .forbidden)
        #expect(anonymous.current.items.isEmpty)
    }

    @Test("A list under the caller's own key is not bound to a credential")
    func ownKey() async throws {
        try await list("A", key: QueryKey("mine")).load()
        let other = try list("B", key: QueryKey("mine"))
        try await other.load()
        #expect(other.current.items.count == 5)
    }
}
#endif
