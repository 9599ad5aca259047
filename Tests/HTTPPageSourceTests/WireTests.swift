#if HTTP
import PageModel
import Testing

@testable import HTTPPageSource

@Suite("Header fields")
struct HeaderTests {
    @Test(
        "Link (RFC 8288): the next target is found in any position and spelling",
        arguments: [
            (#"</a?page=2>; rel="next""#, "/a?page=2"),
            (#"<https://x.example/a>; rel=next"#, "https://x.example/a"),
            (#"<a>; rel="prev", <b>; title="x, y; z"; rel="next""#, "b"),
            (#"<a>;rel="first next""#, "a"),
            (#"<a>; REL="NEXT""#, "a"),
            (#"<a,b>; rel="next""#, "a,b"),
            (#"<a>; rel="prev"; rel="next", <b>; rel="next""#, "b"),
            (#"<a>; title="a \" quote"; rel="next""#, "a"),
        ] as [(String, String?)] + [
            (#"<a>; rel="prev""#, nil), ("", nil), ("<a", nil), (#"<a>; rel="nextish""#, nil), (";;;<>;", nil),
        ])
    func links(field: String, target: String?) {
        #expect(LinkHeader.target(rel: "next", in: field) == target)
    }

    private static let noon = Timestamp(milliseconds: 784_111_777_000)  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        "Retry-After (RFC 9110, 10.2.3) accepts seconds or a date",
        arguments: [
            ("0", Duration.zero), ("7", .seconds(7)), (" 7 ", .seconds(7)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", .seconds(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", .zero), ("Sunday, 06-Nov-94 08:50:07 GMT", .seconds(30)),
            ("2099", .seconds(2_099)),
            ("007", .seconds(7)),
        ] as [(String, Duration?)] + [
            ("-5", nil), ("-0", nil), ("+5", nil), ("1.5", nil), ("1e3", nil), ("soon", nil), ("", nil), ("7, 9", nil),
            ("٧", nil),
            ("Sun, 99 Nov 1994 08:49:37 GMT", nil),
        ])
    func retryAfter(field: String, pause: Duration?) {
        #expect(RetryAfter.pause(field, now: HeaderTests.noon) == pause)
    }

    @Test("Extreme dates and numbers in Retry-After do not overflow")
    func extremes() {
        #expect(RetryAfter.pause("Fri, 31 Dec 9999 23:59:59 GMT", now: HeaderTests.noon)! > .seconds(1_000_000))
        #expect(RetryAfter.pause("9223372036854775807", now: HeaderTests.noon) == .seconds(1 << 31))
        #expect(RetryAfter.pause("99999999999999999999999", now: HeaderTests.noon) == .seconds(1 << 31))
        #expect(
            RetryAfter.pause("Thu, 01 Jan 2099 00:00:00 GMT", now: HeaderTests.noon)
                == .seconds(4_070_908_800 - 784_111_777))
    }

    @Test(
        "Dates around leap days and the epoch are parsed",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Sun, 01 Mar 2026 00:00:00 GMT", 1_772_323_200), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Tuesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
        ])
    func dates(text: String, seconds: Int) {
        #expect(HTTPDate.parse(text)?.milliseconds == Int64(seconds) * 1_000)
    }

    @Test(
        "Invalid dates are rejected",
        arguments: [
            "", "now", "2024-02-29T12:00:00Z", "Thu, 30 Feb 2024 12:00:00 GMT", "Thu, 29 Feb 2023 12:00:00 GMT",
            "Thu, 29 Feb 2024 24:00:00 GMT",
            "Thu, 29 Feb 2024 12:00:00 CET", "Thu, 29 Fév 2024 12:00:00 GMT", "Thu, +9 Feb 2024 12:00:00 GMT",
            "1709208000", "Sun Nov  0 08:49:37 1994",
        ])
    func noDates(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}

@Suite("Origin URLs")
struct OriginURLTests {
    @Test(
        "A host with letters outside ASCII is refused with a reason, and its network form is accepted",
        arguments: ["bücher", "他们为什么不说中文", "straße", "www.pročprostě", "ｈｏｓｔ"])
    func otherScripts(label: String) throws {
        let text = "http://\(label).example:8080/x"
        #expect(OriginURL(text) == nil)
        #expect(HTTPSource.refusal(of: text)?.contains("xn--") == true)
        #expect(try #require(OriginURL("http://h/")).resolving("//\(label)/x") == nil)
        #expect(
            OriginURL("http://xn--bcher-kva.example:8080/ä?q=ü")?.text
                == "http://xn--bcher-kva.example:8080/%C3%A4?q=%C3%BC")
    }

    @Test(
        "Bytes that a URL may not contain are encoded once, and escapes stay as they are",
        arguments: [
            ("/a?filter[tag]=x|y", "/a?filter%5Btag%5D=x%7Cy"), ("/a?q=a b%20c", "/a?q=a%20b%20c"),
            ("/a?q={\"k\":[1]}", "/a?q=%7B%22k%22:%5B1%5D%7D"), ("/a%5Bb%5D?c=%7C|", "/a%5Bb%5D?c=%7C%7C"),
            ("/a?q=100%", "/a?q=100%25"), ("/a?q=%zz", "/a?q=%25zz"), ("/a b/c?d=ü%C3%BC", "/a%20b/c?d=%C3%BC%C3%BC"),
            ("/a?page%5Bsize%5D=5&page[after]=x", "/a?page%5Bsize%5D=5&page%5Bafter%5D=x"),
        ])
    func illegalBytes(text: String, encoded: String) throws {
        #expect(OriginURL("http://h" + text)?.text == "http://h" + encoded)
        #expect(try #require(OriginURL("http://h/")).resolving(text)?.text == "http://h" + encoded)
    }

    @Test(
        "A port that does not exist is refused with a reason",
        arguments: ["0", "65536", "99999", "99999999999999999999", "8o"])
    func ports(port: String) throws {
        #expect(OriginURL("http://h:\(port)/x") == nil)
        #expect(HTTPSource.refusal(of: "http://h:\(port)/x") == "not usable: a port is a number from 1 to 65535")
        #expect(OriginURL("http://h:65535/x")?.port == 65_535)
        #expect(OriginURL("http://[::1]/x")?.port == 80)
    }

    @Test(
        "Brackets without an address are refused as a host, and an address in brackets is accepted",
        arguments: [
            "[", "]", "[]", "[]:80", "a[b", "[::1", "::1]", "[[::1]]",
        ])
    func brackets(host: String) throws {
        #expect(OriginURL("http://\(host)/x") == nil)
        #expect(try #require(OriginURL("http://h/")).resolving("http://\(host)/x") == nil)
        #expect(OriginURL("http://[::1]:8080/x") != nil)
    }

    @Test(
        "Percent encoding of UTF-8 text is decoded, and invalid encoding is rejected (RFC 3986, 2.1)",
        arguments: [
            ("a%20b", "a b"), ("%C3%BC", "ü"), ("", ""), ("plain+", "plain+"), ("%41%4a%4A", "AJJ"), ("ü%25", "ü%"),
            ("%", nil), ("%4", nil), ("%zz", nil), ("%ff", nil), ("a%C3", nil),
        ])
    func percent(text: String, plain: String?) { #expect(text.percentDecoded == plain) }

    @Test(
        "Only absolute http and https URLs are origins",
        arguments: ["ftp://x/a", "file:///etc/passwd", "x", "/a", "http://", "https:///a", "", "http//x"])
    func foreign(text: String) {
        #expect(OriginURL(text) == nil)
    }

    @Test("A key contains neither paging nor secrets, and is independent of order and host spelling (R45)")
    func keys() {
        let plain = HTTPSource.key(for: "https://api.example.com/items?tag=a&sort=b")?.text
        #expect(plain == "https://api.example.com/items?sort=b&tag=a")
        for text in [
            "HTTPS://API.Example.com:443/items?sort=b&tag=a",
            "https://me:pw@api.example.com/items?tag=a&limit=50&sort=b&offset=100",
            "https://api.example.com/items?sort=b&api_key=S3CRET&tag=a&page=3&per_page=9#top",
            "https://api.example.com/items?sort=b&tag=a&access_token=S3CRET&X-Amz-Signature=S3CRET",
        ] {
            #expect(HTTPSource.key(for: text)?.text == plain, "\(text)")
        }
        #expect(HTTPSource.key(for: "http://h:8080/x?rows=5", parameters: ["rows"])?.text == "http://h:8080/x")
        #expect(HTTPSource.key(for: "http://h")?.text == "http://h/")
    }

    @Test("Parameters are set in place and encoded, so that a value cannot become another parameter")
    func setting() {
        var url = OriginURL("http://h/x?a=%C3%BC+b&offset=0&flag")!
        url.set("offset", "100")
        url.set("q", "a&b=c/ü")
        #expect(url.text == "http://h/x?a=%C3%BC+b&offset=100&flag&q=a%26b%3Dc%2F%C3%BC")
        #expect(url.value(of: "a") == "ü b")
    }

    @Test(
        "References are resolved as in RFC 3986, 5.4",
        arguments: [
            ("?page=2", "http://h/a/b?page=2"), ("/c", "http://h/c"), ("c", "http://h/a/c"), ("../c", "http://h/c"),
            ("//x/c", "http://x/c"),
            ("https://y/z?q", "https://y/z?q"),
        ])
    func resolving(reference: String, target: String) {
        #expect(OriginURL("http://h/a/b?q=1")?.resolving(reference)?.text == target)
    }
}
#endif
