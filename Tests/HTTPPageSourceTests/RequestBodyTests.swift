#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("Searches by POST with a JSON body")
struct RequestBodyTests {
    /// Reads a member of a request's body.
    private static func member(_ pointer: String, of request: HTTPPageRequest) -> String? {
        guard let body = request.body, let document = try? JSONDocument(body, depthLimit: 64),
            let value = document.value(at: JSONPointer(pointer)!)
        else { return nil }
        return String(decoding: document.raw(value), as: UTF8.self)
    }

    private func run(
        _ body: String, _ origin: ScriptedOrigin, _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }
    ) async throws -> SyncReport {
        var configuration = HTTPSourceConfiguration(url: "http://h/search")
        configuration.method = .post
        configuration.body = Array(body.utf8)
        change(&configuration)
        let clock = ManualClock(), source = try HTTPSource(configuration, transport: origin)
        return try await ListSync(
            storage: MemoryStorage(clock: clock), source: source,
            key: try #require(HTTPSource.key(for: configuration)), options: SyncOptions(), clock: clock,
            jitter: { 0.5 }
        ).run()
    }

    private static func number(_ text: String?) -> Int? { text.flatMap { Int($0.filter(\.isNumber)) } }

    @Test("Notion: next_cursor goes into start_cursor of the body")
    func notion() async throws {
        let origin = ScriptedOrigin { _, request in
            guard request.method == "POST", request.header("Content-Type") == "application/json" else {
                return HTTPPageResponse(status: 400)
            }
            let start = Self.number(Self.member("/start_cursor", of: request)) ?? 0, end = min(start + 20, 45)
            let next = end < 45 ? #""c-\#(end)""# : "null"
            return .json(
                #"{"object":"list","results":[\#(objects(start..<end))],"next_cursor":\#(next),"has_more":\#(end < 45)}"#
            )
        }
        let report = try await run(#"{"filter":{"value":"page"},"page_size":20}"#, origin)
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 45)
        #expect(origin.requests.allSatisfy { $0.method == "POST" && $0.url == "http://h/search" })
        #expect(origin.requests.allSatisfy { Self.member("/filter/value", of: $0) == "\"page\"" })
    }

    private static let relay = ScriptedOrigin { _, request in
        let start = number(member("/variables/cursor", of: request)).map { $0 + 1 } ?? 0, end = min(start + 20, 45)
        let edges = (start..<end).map { #"{"cursor":"c\#($0)","node":{"id":"i\#($0)"}}"# }.joined(separator: ",")
        return .json(
            #"{"data":{"repository":{"issues":{"totalCount":45,"pageInfo":{"hasNextPage":\#(end < 45),"endCursor":"c\#(end - 1)"},"#
                + #""edges":[\#(edges)]}}}}"#)
    }

    @Test("GraphQL: the cursor of a Relay connection goes into the variable that the query gives to `after`")
    func graphQL() async throws {
        let query =
            #"{"query":"query($cursor: String) { repository(name: \"r\") { issues(first: 20, after: $cursor) { edges { node { id } } } } }","variables":{"name":"r"}}"#
        let report = try await run(query, Self.relay)
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("GraphQL: the cursor goes into the place that `cursorIn` names")
    func cursorIn() async throws {
        let report = try await run(#"{"query":"q","variables":{}}"#, Self.relay) {
            $0.cursorIn = JSONPointer("/variables/cursor")
        }
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("GraphQL: a connection without endCursor continues after the cursor of its last edge")
    func edges() async throws {
        let origin = ScriptedOrigin { _, request in
            let start = Self.number(Self.member("/variables/c", of: request)).map { $0 + 1 } ?? 0
            let end = min(start + 20, 45)
            let edges = (start..<end).map { #"{"cursor":"c\#($0)","node":{"id":"i\#($0)"}}"# }.joined(separator: ",")
            return .json(
                #"{"data":{"shop":{"products":{"edges":[\#(edges)],"pageInfo":{"hasNextPage":\#(end < 45)}}}}}"#)
        }
        let report = try await run(
            #"{"query":"query($c: String) { shop { products(first: 20, after: $c) }}","variables":{"c":null}}"#, origin)
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("DynamoDB: the last key, an object, goes into the body as an object", arguments: [false, true])
    func objectCursor(isConfigured: Bool) async throws {
        let origin = ScriptedOrigin { _, request in
            let last = Self.number(Self.member("/ExclusiveStartKey/pk/S", of: request))
            guard last != nil || Self.member("/ExclusiveStartKey", of: request) == nil else {
                return HTTPPageResponse(status: 400)
            }
            let start = last.map { $0 + 1 } ?? 0, end = min(start + 20, 45)
            let items = (start..<end).map { #"{"pk":{"S":"k\#($0)"}}"# }.joined(separator: ",")
            let key = end < 45 ? #","LastEvaluatedKey":{"pk":{"S":"k\#(end - 1)"}}"# : ""
            return .json(#"{"Items":[\#(items)],"Count":\#(end - start)\#(key)}"#)
        }
        let report = try await run(#"{"TableName":"t"}"#, origin) {
            guard isConfigured else { return }
            $0.next = .init("/LastEvaluatedKey")
            $0.cursorIn = JSONPointer("/ExclusiveStartKey")
        }
        #expect(report.outcome == .complete, "\(report.warnings) \(report.headFailure?.message ?? "")")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("Elasticsearch: search_after takes all sort values of the last hit", arguments: [false, true])
    func severalSortValues(isConfigured: Bool) async throws {
        let origin = ScriptedOrigin { _, request in
            let last = Self.member("/search_after/0", of: request).flatMap { Int($0) }
            guard Self.member("/from", of: request) == nil,
                last == nil || Self.member("/search_after/1", of: request) == "\"s\(last ?? 0)\""
            else { return HTTPPageResponse(status: 400) }
            let start = last.map { $0 + 1 } ?? 0
            let hits = (min(start, 45)..<min(start + 20, 45)).map { #"{"_id":"\#($0)","sort":[\#($0),"s\#($0)"]}"# }
            return .json(#"{"hits":{"total":{"value":45,"relation":"eq"},"hits":[\#(hits.joined(separator: ","))]}}"#)
        }
        let report = try await run(#"{"size":20,"sort":["a","b"]}"#, origin) {
            if isConfigured { $0.cursorIn = JSONPointer("/search_after") }
        }
        #expect(report.outcome == .complete, "\(report.warnings) \(report.headFailure?.message ?? "")")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("A configured place of the cursor is refused, if the origin ignores it")
    func ignoredPlace() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"results":[\#(objects(0..<20))]}"#) }
        let report = try await run(#"{"limit":20}"#, origin) { $0.cursorIn = JSONPointer("/afterr") }
        #expect(
            report.headFailure?.message.hasPrefix("HTTPSourceConfiguration.cursorIn = /afterr is not confirmed") == true
        )
    }

    @Test("HubSpot: a token inside an object named next, and Plaid: an offset inside an object of options")
    func nested() async throws {
        let hubspot = ScriptedOrigin { _, request in
            let start = Self.number(Self.member("/after", of: request)) ?? 0, end = min(start + 20, 45)
            let paging = end < 45 ? #","paging":{"next":{"after":"\#(end)"}}"# : ""
            return .json(#"{"total":45,"results":[\#(objects(start..<end))]\#(paging)}"#)
        }
        let plaid = ScriptedOrigin { _, request in
            let start = min(Self.number(Self.member("/options/offset", of: request)) ?? 0, 45)
            return .json(#"{"transactions":[\#(objects(from: start, 20, of: 45))],"total_transactions":45}"#)
        }
        for (body, origin) in [
            (#"{"limit":20}"#, hubspot), (#"{"options":{"count":20,"offset":0}}"#, plaid),
        ] {
            let report = try await run(body, origin)
            #expect(report.outcome == .complete, "\(report.warnings)")
            #expect(report.list?.coverage.count == 45)
        }
    }

    @Test("GraphQL: an answer with errors and without data is a failure")
    func graphQLErrors() async throws {
        let report = try await run(
            #"{"query":"q"}"#, ScriptedOrigin { _, _ in .json(#"{"data":null,"errors":[{"message":"no"}]}"#) })
        #expect(report.outcome == .failed)
    }

    @Test("Prefect: an offset in the body stays a number")
    func offsets() async throws {
        let origin = ScriptedOrigin { _, request in
            let text = Self.member("/offset", of: request) ?? "0"
            guard let start = Int(text) else { return HTTPPageResponse(status: 422) }
            return .json("[\(objects(from: start, 20, of: 45))]")
        }
        let report = try await run(#"{"sort":"ID_DESC","limit":20,"offset":0}"#, origin)
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("Elasticsearch: search_after takes the sort values of the last hit as an array")
    func searchAfter() async throws {
        let origin = ScriptedOrigin { _, request in
            let text = Self.member("/search_after", of: request)
            guard text == nil || text!.hasPrefix("[") else { return HTTPPageResponse(status: 400) }
            let start = Self.number(text).map { $0 + 1 } ?? 0, end = min(start + 20, 45)
            let hits = (start..<end).map { #"{"_id":"i\#($0)","sort":[\#($0)]}"# }.joined(separator: ",")
            return .json(#"{"hits":{"total":{"value":45,"relation":"eq"},"hits":[\#(hits)]}}"#)
        }
        let report = try await run(#"{"size":20,"sort":[{"n":"asc"}]}"#, origin)
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("A POST follows a redirect with status 307 or 308, and no other", arguments: [301, 302, 303, 307, 308])
    func redirects(status: Int) async throws {
        let origin = ScriptedOrigin { url, request in
            if url.path == "/search" { return .redirect(to: "/moved", status: status) }
            return request.body == nil ? HTTPPageResponse(status: 400) : .json(#"{"total":1,"items":[{"id":1}]}"#)
        }
        let report = try await run("{}", origin)
        #expect(report.outcome == (status >= 307 ? .complete : .failed))
        #expect(origin.requests.allSatisfy { $0.method == "POST" })
    }

    @Test("A search by POST sends no conditional header and no HEAD")
    func noConditions() async throws {
        let origin = ScriptedOrigin { _, _ in
            .json(#"{"items":[\#(objects(0..<7))],"has_more":false}"#, [HTTPField("ETag", "\"a\"")])
        }
        var configuration = HTTPSourceConfiguration(url: "http://h/search")
        configuration.method = .post
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        for _ in 0..<2 {
            let source = try HTTPSource(configuration, transport: origin)
            _ = try await ListSync(
                storage: storage, source: source, key: QueryKey("k"), options: SyncOptions(), clock: clock,
                jitter: { 0.5 }
            ).run()
        }
        #expect(origin.requests.count >= 2)
        #expect(origin.requests.allSatisfy { $0.method == "POST" && $0.header("If-None-Match") == nil })
    }

    @Test("The key contains the body without position, size and secrets, and ignores the order of members (R45)")
    func key() throws {
        func key(_ body: String) -> String? {
            var configuration = HTTPSourceConfiguration(url: "http://h/search?limit=5")
            configuration.method = .post
            configuration.body = Array(body.utf8)
            configuration.cursorIn = JSONPointer("/after")
            return HTTPSource.key(for: configuration)?.text
        }
        let plain = key(#"{"b":1,"a":{"d":[1,2.50],"c":"x"}}"#)
        #expect(plain == #"POST http://h/search {"a":{"c":"x","d":[1,2.50]},"b":1}"#)
        #expect(key(#"{"a":{"c":"x","d":[1,2.50]},"b":1,"after":"z","limit":9,"api_key":"S3CRET"}"#) == plain)
        #expect(key(#"{"a":{"c":"y","d":[1,2.50]},"b":1}"#) != plain)
        let long = key(#"{"a":"\#(String(repeating: "x", count: 2_000))"}"#)
        #expect(long?.hasPrefix("POST http://h/search digest:") == true)
        #expect(key("[]") == nil)
    }

    @Test("The stored list repeats its request, unless the body holds a secret")
    func stored() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"total":1,"items":[{"id":1}]}"#) }
        for (body, isStored) in [
            (#"{"a":1}"#, true), (#"{"a":1,"offset":0,"limit":20}"#, true),
            (#"{"page":1,"variables":{"page":1}}"#, true),
            (#"{"a":1,"password":"hunter22"}"#, false), (#"{"a":[{"api_key":"hunter22"}],"limit":9}"#, false),
        ] {
            let record = try #require(try await run(body, origin).list?.record)
            #expect(!record.source.contains("hunter22"))
            var configuration = HTTPSourceConfiguration(url: "http://h/search")
            HTTPSource.restoreRequest(inStored: record.source, into: &configuration)
            #expect(configuration.method == .post)
            #expect((configuration.body != nil) == isStored, "\(body)")
            // A list whose body is unknown is not requested with an empty one.
            let restored = try HTTPSource(configuration, stored: record.source, transport: origin)
            var named = record
            named.key = "named"
            if isStored {
                try restored.authorize(named)
            } else {
                let refusal = #expect(throws: FetchFailure.self) { try restored.authorize(named) }
                #expect(refusal?.failureClass == .forbidden)
                #expect(refusal?.message.contains("is needed again") == true)
                #expect(restored.isBound(stored: record.source), "a missing body is not another one")
                configuration.body = Array(body.utf8)
                try HTTPSource(configuration, stored: record.source, transport: origin).authorize(named)
            }
        }
    }

    @Test("A named list is refused to a request with another method or body, and not for its position or size (R47)")
    func otherBody() async throws {
        for secret in ["", #","api_key":"hunter22""#] { try await otherBody(secret) }
    }

    private func otherBody(_ secret: String) async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"total":1,"items":[{"id":1}]}"#) }
        var record = try #require(try await run(#"{"color":"red","limit":20\#(secret)}"#, origin).list?.record)
        record.key = "named"
        func authorize(_ body: String?, _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }) throws {
            var configuration = HTTPSourceConfiguration(url: "http://h/search")
            if let body { (configuration.method, configuration.body) = (.post, Array(body.utf8)) }
            change(&configuration)
            try HTTPSource(configuration, stored: record.source, transport: origin).authorize(record)
        }
        try authorize(#"{"limit":5,"color":"red","offset":40\#(secret)}"#)
        for other in [#"{"color":"blue","limit":20\#(secret)}"#, nil] {
            let refusal = #expect(throws: FetchFailure.self) { try authorize(other) }
            #expect(refusal?.failureClass == .rejected)
            #expect(refusal?.message.contains("another method or body") == true)
            try authorize(other) { $0.rebinds = true }
        }
    }

    @Test("A method of the caller's choice is not replaced by the stored one")
    func ownMethod() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"total":1,"items":[{"id":1}]}"#) }
        let source = try #require(try await run(#"{"a":1}"#, origin).list?.record.source)
        var configuration = HTTPSourceConfiguration(url: "http://h/search")
        configuration.hasOwnMethod = true
        HTTPSource.restoreRequest(inStored: source, into: &configuration)
        #expect(configuration.method == .get && configuration.body == nil)
        configuration.method = .post
        HTTPSource.restoreRequest(inStored: source, into: &configuration)
        #expect(configuration.body == Array(#"{"a":1}"#.utf8))
    }

    @Test("A later sync of a search sends the body of the first one, with the members of its position")
    func again() async throws {
        let origin = ScriptedOrigin { _, request in
            let isRed = Self.member("/color", of: request) == "\"red\""
            let start = Self.number(Self.member("/offset", of: request)) ?? 0
            let size = Self.number(Self.member("/limit", of: request)) ?? 20
            let length = isRed ? 60 : 120
            return .json(
                #"{"total":\#(length),"items":[\#(objects(min(start, length)..<min(start + size, length)))]}"#)
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        func sync(_ configuration: HTTPSourceConfiguration, _ stored: String?) async throws -> SyncReport {
            let source = try HTTPSource(configuration, stored: stored, transport: origin)
            return try await ListSync(
                storage: storage, source: source, key: "red", options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
        }
        var first = HTTPSourceConfiguration(url: "http://h/search")
        first.method = .post
        first.body = Array(#"{"color":"red","offset":0,"limit":20}"#.utf8)
        let record = try #require(try await sync(first, nil).list?.record)
        var second = HTTPSourceConfiguration(url: "http://h/search")
        HTTPSource.restoreRequest(inStored: record.source, into: &second)
        #expect(try await sync(second, record.source).outcome == .complete)
        #expect(try await storage.outline(of: record.id)?.coverage.segments == [0..<60])
        #expect(origin.requests.allSatisfy { Self.member("/color", of: $0) == "\"red\"" })
    }

    @Test("A redirect to an allowed host receives the body, unless the body holds a secret (R45)")
    func allowedHost() async throws {
        for (body, isSent) in [(#"{"a":1}"#, true), (#"{"a":1,"password":"hunter22"}"#, false)] {
            let origin = ScriptedOrigin { url, _ in
                url.text.hasPrefix("http://h/")
                    ? .redirect(to: "http://files.example/search", status: 307)
                    : .json(#"{"total":1,"items":[{"id":1}]}"#)
            }
            let report = try await run(body, origin) { $0.allowedHosts = ["files.example"] }
            #expect((report.outcome == .complete) == isSent, "\(report.warnings)")
            #expect(origin.requests.contains { $0.url.hasPrefix("http://files.example/") } == isSent)
        }
    }
}
#endif
