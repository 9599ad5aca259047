#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

/// Puts sentinels in every place for a credential. The origin echoes everything it receives wherever it can.
@Suite("The caller's credentials are sent to its origin and nowhere else (R45)")
struct SecretTests {
    private static let url =
        "https://sentinel-user-0123456:sentinel-pass-01@h/api?api_key=sentinel-query-01&token=sentinel-token-0123456"
    /// The user and the password, as they are sent.
    private static let basic = "c2VudGluZWwtdXNlci0wMTIzNDU2OnNlbnRpbmVsLXBhc3MtMDE="
    /// All sentinels, and two other spellings.
    static let sentinels = [
        "sentinel-user-0123456", "sentinel-pass-01", "sentinel-query-01", "sentinel-token-0123456",
        "sentinel-header-01",
        "sentinel-custom-01",
        "sentinel-cookie-01", "sentinel-bearer-01", "SENTINEL-HEADER-01", "sentinel%2Dheader-01", basic,
    ]

    static func configuration(_ change: (inout HTTPSourceConfiguration) -> Void = { _ in }) -> HTTPSourceConfiguration {
        var configuration = HTTPSourceConfiguration(url: url)
        configuration.headers = [
            HTTPField("X-Api-Key", "sentinel-header-01"), HTTPField("X-Who", "sentinel-custom-01"),
            HTTPField("Cookie", "theme=dark; sid=sentinel-cookie-01"),
            HTTPField("Proxy-Authorization", "Bearer sentinel-bearer-01"),
        ]
        configuration.secretHeaders = ["x-who"]
        change(&configuration)
        return configuration
    }

    static func isClean(_ text: String) -> Bool { !text.lowercased().contains("sentinel") && !text.contains(basic) }

    /// Returns all traces of a fetch: the failure, the page without its items, and the descriptions of the source.
    private func traces(_ origin: ScriptedOrigin, _ configuration: HTTPSourceConfiguration = configuration())
        async throws -> [String]
    {
        let source = try HTTPSource(configuration, transport: origin)
        var traces: [String] = []
        do {
            guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return ["no page"] }
            traces += [
                "\(page.next as Any)", "\(page.validator as Any)", "\(page.detectedPaging as Any)", "\(page.total)",
            ]
        } catch {
            traces.append("\(error)")
        }
        traces += [
            source.summary ?? "", "\(source)", "\(configuration)", "\(origin.requests)",
            "\(origin.requests.map(\.headers))",
        ]
        for value in [source as Any, configuration as Any, origin.requests as Any] {
            var text = ""
            dump(value, to: &text)
            traces.append(text)
        }
        return traces
    }

    private func expectClean(_ origin: ScriptedOrigin, _ configuration: HTTPSourceConfiguration = configuration())
        async throws
    {
        for trace in try await traces(origin, configuration) {
            #expect(SecretTests.isClean(trace), "\(trace)")
        }
        #expect(!origin.requests.isEmpty)
    }

    @Test("The origin itself receives all credentials")
    func originReceivesAll() async throws {
        let origin = ScriptedOrigin { _, _ in .json("[1]") }
        _ = try await traces(origin)
        let request = origin.requests[0]
        #expect(request.url == "https://h/api?api_key=sentinel-query-01&token=sentinel-token-0123456")
        #expect(request.header("Authorization") == "Basic \(SecretTests.basic)")
        #expect(SecretTests.configuration().headers.allSatisfy { request.headers.contains($0) })
    }

    @Test("A secret echoed in an error page appears in no failure", arguments: sentinels)
    func errorPage(word: String) async throws {
        for status in [200, 400, 401, 403, 404, 429, 500] {
            try await expectClean(
                ScriptedOrigin {
                    _,
                    _ in .json("<html>no such key: \(word)", [HTTPField("X-Debug", word)], status: status)
                })
            try await expectClean(
                ScriptedOrigin { _, _ in .json(#"{"error":"no such key: \#(word)"}"#, status: status) })
        }
    }

    @Test("A secret echoed in a redirect is neither sent nor reported", arguments: sentinels)
    func redirect(word: String) async throws {
        for place in [
            "https://evil.example/?x=\(word)", "https://\(word).example/", "https://\(word)@evil.example/",
            "ftp://h/\(word)", "https://files.example/\(word)",
        ] {
            let origin = ScriptedOrigin { url, _ in url.host == "h" ? .redirect(to: place) : .json("[1]") }
            try await expectClean(origin, SecretTests.configuration { $0.allowedHosts = ["files.example"] })
            for request in origin.requests where !request.url.hasPrefix("https://h/") {
                #expect(
                    SecretTests.isClean(request.url + request.headers.map { "\($0.name):\($0.value)" }.joined()),
                    "\(request.url)")
            }
        }
    }

    @Test(
        "A secret echoed in a next link is not stored, whether as a parameter, a user or a path",
        arguments: sentinels)
    func nextLink(word: String) async throws {
        for link in [
            "?after=1&api_key=\(word)", "?after=1&copy=\(word)", "https://me:\(word)@h/api?after=1", "/\(word)?after=1",
            "?after=1&\(word)",
        ] {
            let body = #"{"items":[{"id":1}],"next":"\#(link)"}"#
            try await expectClean(ScriptedOrigin { _, _ in .json(body) })
            try await expectClean(
                ScriptedOrigin { _, _ in .json("[1]", [HTTPField("Link", "<\(link)>; rel=\"next\"")]) })
        }
    }

    @Test("Secrets removed from a next link are added again to its request")
    func addedAgain() async throws {
        let origin = ScriptedOrigin { _, _ in
            .json(#"{"items":[{"id":1}],"next":"/api?after=1&api_key=sentinel-query-01&copy=sentinel-header-01"}"#)
        }
        let source = try HTTPSource(
            SecretTests.configuration {
                $0.paging = .nextURL; $0.next = .init("/next")
            },
            transport: origin)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)), let next = page.next else {
            Issue.record("the page has no next page")
            return
        }
        #expect(next == PageCursor("https://h/api?after=1"))
        _ = try? await source.fetch(PageRequest(.cursor(next)))
        #expect(origin.urls.last == "https://h/api?after=1&api_key=sentinel-query-01&token=sentinel-token-0123456")
    }

    @Test("A validator that contains a secret is dropped", arguments: sentinels)
    func validator(word: String) async throws {
        try await expectClean(ScriptedOrigin { _, _ in .json("[1]", [HTTPField("ETag", "\"\(word)\"")]) })
        let page = "https://h/api"
        let origin = ScriptedOrigin { _, request in
            request.header("If-None-Match") == nil
                ? .json("[1]", [HTTPField("ETag", "a")])
                : HTTPPageResponse(
                    status: 304,
                    headers: [HTTPField("ETag", word)])
        }
        let source = try HTTPSource(SecretTests.configuration { $0.paging = .none }, transport: origin)
        _ = try await source.fetch(PageRequest(.first))
        let held = Validator(request: page, entityTag: "a", lastModified: nil, coversTotal: false)
        #expect(
            try await source.fetch(PageRequest(.first, validator: held))
                == .notModified(total: .unknown, validator: nil))
    }

    @Test("A secret echoed as the name of a member is not stored", arguments: sentinels)
    func names(word: String) async throws {
        try await expectClean(ScriptedOrigin { _, _ in .json(#"{"\#(word)":[{"id":1},{"id":2}],"total":2}"#) })
        try await expectClean(
            ScriptedOrigin { _, _ in .json(#"{"items":[{"\#(word)":1},{"\#(word)":2}],"next":{"\#(word)":"x"}}"#) })
        try await expectClean(
            ScriptedOrigin { _, _ in .json(#"{"items":[{"id":1}],"\#(word)":{"next":"/api?after=1"}}"#) })
    }

    /// A transport whose errors reveal the request.
    private struct LeakyTransport: HTTPTransport {
        func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
            throw FetchFailure(
                .transport, "no answer to \(request.url) with \(request.headers.map(\.value))", isRetryable: true)
        }
    }

    @Test("Secrets in a transport's error are replaced")
    func transport() async throws {
        let source = try HTTPSource(SecretTests.configuration(), transport: LeakyTransport())
        let failure = await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
        #expect(failure?.message.contains("[secret]") == true)
        #expect(SecretTests.isClean(failure?.message ?? ""))
    }

    @Test("A synchronization leaves no secret in the store, in its events or in its report", arguments: sentinels)
    func synchronisation(word: String) async throws {
        let origins = [
            ScriptedOrigin { url, _ in
                let start = url.value(of: "after").flatMap { Int($0) } ?? 0
                let next =
                    start < 2 ? #","next":"/api?after=\#(start + 1)&api_key=sentinel-query-01&copy=\#(word)""# : ""
                return .json(#"{"items":[{"id":\#(start)}]\#(next)}"#, [HTTPField("ETag", "\"\(word)\"")])
            },
            ScriptedOrigin { _, _ in .redirect(to: "https://evil.example/\(word)") },
            ScriptedOrigin { _, _ in .json(word, status: 401) },
        ]
        for origin in origins {
            let storage = MemoryStorage()
            let key = try #require(HTTPSource.key(for: SecretTests.url))
            let source = try HTTPSource(SecretTests.configuration(), transport: origin)
            let events = Mutex<[String]>([])
            let report = try await ListSync(
                storage: storage, source: source, key: key, clock: ManualClock(), jitter: { 0.5 }
            )
            .run { event in events.withLock { $0.append("\(event)") } }
            let traces = events.withLock { $0 } + ["\(report)", "\(key)", key.text]
            for trace in traces { #expect(SecretTests.isClean(trace), "\(trace)") }
            let record = try await storage.query(key)
            #expect(SecretTests.isClean("\(record as Any)"))
        }
    }
}
#endif
