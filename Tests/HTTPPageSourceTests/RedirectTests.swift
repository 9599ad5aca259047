#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Redirects (R45)")
struct RedirectTests {
    private func configuration(_ url: String, _ change: (inout HTTPSourceConfiguration) -> Void = { _ in })
        -> HTTPSourceConfiguration
    {
        var configuration = HTTPSourceConfiguration(url: url)
        configuration.headers = [
            HTTPField("X-Api-Key", "S3CRET-header"), HTTPField("X-Tenant", "blue"),
            HTTPField("Cookie", "sid=S3CRET-cookie"),
        ]
        configuration.paging = .none
        change(&configuration)
        return configuration
    }

    private func failure(_ origin: ScriptedOrigin, _ configuration: HTTPSourceConfiguration) async throws
        -> FetchFailure?
    {
        let source = try HTTPSource(configuration, transport: origin)
        return await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
    }

    /// Returns an origin that redirects requests to `/api` and answers others with a list.
    private func origin(_ location: String, status: Int = 302) -> ScriptedOrigin {
        ScriptedOrigin { url, _ in
            url.text.contains("/api") && !url.text.contains("moved")
                ? .redirect(to: location, status: status) : .json("[1]")
        }
    }

    @Test(
        "Every kind of redirect within the origin is followed with all configured headers and parameters",
        arguments: [301, 302, 303, 307, 308])
    func followed(status: Int) async throws {
        let origin = origin("/moved?x=1", status: status)
        let source = try HTTPSource(configuration("https://me:p4ss@h/api?api_key=S3CRET-query"), transport: origin)
        _ = try await source.fetch(PageRequest(.first))
        let second = try #require(origin.requests.dropFirst().first)
        #expect(second.url == "https://h/moved?x=1&api_key=S3CRET-query")
        #expect(
            second.header("X-Api-Key") == "S3CRET-header" && second.header("X-Tenant") == "blue"
                && second.header("Cookie") == "sid=S3CRET-cookie")
        #expect(second.header("Authorization") == "Basic bWU6cDRzcw==")
    }

    @Test(
        "A redirect from http to https of one host is followed on the default or its own port, and not back",
        arguments: [
            ("http://h/api", "https://h/moved", true), ("http://h/api", "https://h:443/moved", true),
            ("http://h:8080/api", "https://h:8080/moved", true),
            ("http://h/api", "https://h:8443/moved", false), ("http://h:8080/api", "https://h/moved", false),
            ("https://h/api", "http://h/moved", false),
            ("https://h/api", "http://h:443/moved", false),
        ])
    func upgrade(url: String, location: String, isFollowed: Bool) async throws {
        let origin = origin(location)
        if isFollowed {
            _ = try await HTTPSource(configuration(url), transport: origin).fetch(PageRequest(.first))
            #expect(origin.requests[1].header("X-Api-Key") == "S3CRET-header")
        } else {
            #expect(try await failure(origin, configuration(url))?.failureClass == .limitExceeded)
            #expect(origin.requests.count == 1)
        }
    }

    @Test(
        "A redirect to another origin, or to an invalid URL, is refused",
        arguments: [
            "https://evil.example/moved", "//evil.example/moved", "https://h.evil.example/moved",
            "https://h:8443/moved",
            "https://h@evil.example/moved",
            "file:///etc/passwd", "ftp://h/moved", "javascript:alert(1)", "data:application/json,[]", "https://",
            "http+unix://%2Ftmp%2Fsocket/moved",
            "https:///moved", "",
        ])
    func refused(location: String) async throws {
        let origin = origin(location)
        let failure = try await failure(origin, configuration("https://h/api"))
        #expect(failure?.failureClass == .limitExceeded && failure?.isRetryable == false)
        #expect(failure?.message.contains("redirects") == true)
        #expect(origin.requests.count == 1)
    }

    @Test(
        "A redirect to an allowed origin is followed without headers, user or secrets",
        arguments: [
            "https://files.example/moved?x=1", "https://files.example:443/moved?x=1", "https://FILES.example/moved?x=1",
            "https://you:there@files.example/moved?x=1", "https://files.example/moved?x=1&api_key=S3CRET-query",
            "https://files.example/moved?x=1&copy=S3CRET-header",
        ])
    func allowed(location: String) async throws {
        let origin = origin(location)
        let configuration = configuration("https://me:p4ss@h/api?api_key=S3CRET-query") {
            $0.allowedHosts = ["Files.example"]
        }
        let page = try await HTTPSource(configuration, transport: origin).first()
        #expect(page.content.count == 1)
        let second = try #require(origin.requests.dropFirst().first)
        #expect(second.url.lowercased().replacing(":443", with: "") == "https://files.example/moved?x=1")
        #expect(Set(second.headers.map(\.name)) == ["Accept", "User-Agent"])
    }

    @Test(
        "An allowed host permits no other port, no http, and no secret in the URL",
        arguments: [
            "https://files.example:8443/moved", "http://files.example/moved",
            "https://files.example/moved/S3CRET-header",
            "https://sub.files.example/moved",
            "https://files.example/moved/S3CRET%2Dheader", "https://files.example/moved?S3CRET-query=1",
        ])
    func notAllowed(location: String) async throws {
        let origin = origin(location)
        let failure = try await failure(
            origin, configuration("https://h/api?api_key=S3CRET-query") { $0.allowedHosts = ["files.example"] })
        #expect(failure?.failureClass == .limitExceeded)
        #expect(failure?.message.contains("S3CRET") == false)
        #expect(origin.requests.count == 1)
    }

    @Test("A redirect to another port of a host is followed if the host is allowed with that port")
    func allowedPort() async throws {
        let origin = origin("https://files.example:8443/moved")
        _ = try await HTTPSource(
            configuration("https://h/api") { $0.allowedHosts = ["files.example:8443"] },
            transport: origin
        ).fetch(PageRequest(.first))
        #expect(origin.requests[1].header("X-Api-Key") == nil)
    }

    @Test("A redirect from an allowed host back to the origin gets the credentials again")
    func roundTrip() async throws {
        let origin = ScriptedOrigin { url, _ in
            if url.host == "files.example" { return .redirect(to: "https://h/moved") }
            return url.text.contains("moved") ? .json("[1]") : .redirect(to: "https://files.example/x")
        }
        _ = try await HTTPSource(
            configuration("https://h/api") { $0.allowedHosts = ["files.example"] },
            transport: origin
        ).fetch(PageRequest(.first))
        #expect(origin.requests.prefix(3).map { $0.header("X-Api-Key") } == ["S3CRET-header", nil, "S3CRET-header"])
    }

    @Test(
        "A circle of redirects fails at the first repeated URL, and the error names the circle", arguments: [1, 2, 3])
    func circle(length: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            .redirect(to: "/api?step=\(((url.value(of: "step").flatMap { Int($0) } ?? 0) + 1) % length)")
        }
        let failure = try await failure(origin, configuration("https://h/api?step=0"))
        #expect(failure?.message == "the origin redirects in a circle")
        #expect(failure?.failureClass == .limitExceeded)
        #expect(origin.requests.count == length)
    }

    @Test("Redirects beyond the limit fail, and the error names the limit", arguments: [0, 1, 5])
    func limit(redirects: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            .redirect(to: "/api?step=\((url.value(of: "step").flatMap { Int($0) } ?? 0) + 1)")
        }
        let failure = try await failure(origin, configuration("https://h/api") { $0.limits.redirects = redirects })
        #expect(failure?.message == "more than \(redirects) redirects")
        #expect(failure?.isRetryable == false)
        #expect(origin.requests.count == redirects + 1)
    }

    @Test("A redirect without a location is a failure")
    func nowhere() async throws {
        let failure = try await failure(
            ScriptedOrigin { _, _ in HTTPPageResponse(status: 302) }, configuration("https://h/api"))
        #expect(failure?.failureClass == .rejected && failure?.httpStatus == 302)
    }

    @Test("A cookie from the origin is never sent back")
    func setCookie() async throws {
        let origin = ScriptedOrigin { url, _ in
            let cookie = HTTPField("Set-Cookie", "tracker=1; Path=/")
            guard url.text.contains("moved") else {
                return HTTPPageResponse(status: 302, headers: [cookie, HTTPField("Location", "/moved")])
            }
            return .json("[1]", [cookie])
        }
        let source = try HTTPSource(configuration("https://h/api") { $0.headers = [] }, transport: origin)
        for _ in 0..<2 { _ = try await source.fetch(PageRequest(.first)) }
        #expect(origin.requests.count >= 4)
        #expect(origin.requests.allSatisfy { $0.header("Cookie") == nil })
    }

    @Test("Relative links of a redirected answer are resolved against its final URL")
    func relativeLinks() async throws {
        let origin = ScriptedOrigin { url, _ in
            if url.scheme == "http" { return .redirect(to: "https://h/v2/api") }
            return .json(#"{"items":[{"id":\#(url.value(of: "after") == nil ? 1 : 2)}],"next":"?after=1"}"#)
        }
        let source = try HTTPSource(
            configuration("http://h/api") {
                $0.paging = .nextURL; $0.next = .init("/next")
            },
            transport: origin)
        let page = try await source.first()
        let next = try #require(page.next)
        #expect(next == PageCursor("https://h/v2/api?after=1"))
        let second = try await source.page(.cursor(next))
        #expect(second.content.count == 1)
        #expect(origin.urls.last == "https://h/v2/api?after=1")
        #expect(origin.requests.last?.header("X-Api-Key") == "S3CRET-header")
    }
}
#endif
