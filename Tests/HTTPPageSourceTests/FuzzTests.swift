#if HTTP
import Foundation
import PageModel
import PagedRepository
@testable import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

/// Every answer of an origin is accepted or refused, without a crash or a hang. `Fuzz` defines the number of cases.
@Suite("Fuzzing", .timeLimit(.minutes(20)))
struct FuzzTests {
    @Test("JSON: an accepted document that was damaged can be traversed to its last value")
    func documents() {
        for seed in Fuzz.seeds(percent: 15) {
            var generator = JSONGenerator(seed: seed)
            let text = damaged(Array(generator.text().utf8), &generator.random)
            guard let document = try? JSONDocument(text, depthLimit: generator.random.pick([3, 8, 512])) else {
                continue
            }
            let end = walk(document, document.root)
            #expect(end == document.root.end, "seed \(seed)")
        }
    }

    /// Traverses the value and returns its end. Returns -1 when values overlap, or when a member is not found by its
    /// name.
    private func walk(_ document: JSONDocument, _ value: JSONValue) -> Int {
        _ = document.integer(value)
        _ = document.identifier(value)
        var end = value.start
        for element in document.elements(of: value) {
            guard element.start > end, walk(document, element) == element.end else { return -1 }
            end = element.end
        }
        for (name, member) in document.members(of: value) {
            let pointer = JSONPointer(tokens: [name])
            guard member.start > end, walk(document, member) == member.end,
                JSONPointer(pointer.description) == pointer, document.value(at: pointer, below: value) != nil
            else { return -1 }
            end = member.end
        }
        return value.end
    }

    @Test("JSON: random bytes do not lead beyond the end of the text")
    func noise() {
        for seed in Fuzz.seeds(percent: 5) {
            var random = SeededGenerator(seed: seed)
            let text = (0..<random.number(below: 40)).map { _ in UInt8(random.number(below: 256)) }
            if let document = try? JSONDocument(text, depthLimit: 8) {
                #expect(document.root.end <= text.count, "seed \(seed)")
            }
        }
    }

    @Test("JSON Pointer: a valid pointer is described by its own text")
    func pointers() {
        for seed in Fuzz.seeds(percent: 10) {
            var random = SeededGenerator(seed: seed)
            let text = random.text(of: [
                "/", "~", "~0", "~1", "~2", "0", "1", "00", "-", "é", "\u{301}", "😀", "a", "\"", "\\", "\u{0}",
            ])
            if let pointer = JSONPointer(text) {
                #expect(pointer.description.utf8.elementsEqual(text.utf8), "seed \(seed)")
                _ = try? JSONItems.split(Array(#"{"a":[[1,[2]]],"":[],"0":{"1":[3]}}"#.utf8), at: pointer, id: pointer)
            } else {
                let isOdd =
                    text.utf8.first != UInt8(ascii: "/") || text.contains("~2") || text.utf8.contains(UInt8(ascii: "~"))
                #expect(isOdd, "seed \(seed)")
            }
        }
    }

    @Test("Link: a target is a part of its field")
    func links() {
        for seed in Fuzz.seeds(percent: 10) {
            var random = SeededGenerator(seed: seed)
            let field = random.text(of: [
                "<", ">", ";", ",", "=", "\"", "\\", " ", "\t", "rel", "next", "prev", "title", "</a?page=2>",
                #"; rel="next""#, "é",
                "\u{301}", "\u{0}",
            ])
            if let target = LinkHeader.target(rel: "next", in: field) {
                #expect(field.contains(target) || target.isEmpty, "seed \(seed)")
            }
        }
    }

    @Test("Retry-After: a pause is never negative, whatever the date")
    func dates() {
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        for seed in Fuzz.seeds(percent: 10) {
            var random = SeededGenerator(seed: seed)
            var field = "Sun, 06 Nov 1994 08:49:37 GMT"
            if random.isLikely(60) {
                field = String(decoding: damaged(Array(field.utf8), &random), as: UTF8.self)
            } else {
                field = random.text(of: [
                    "-", "+", "0", "9", "99999999999", " ", ":", ",", "Nov", "GMT", "Feb", "31", "9999", "é",
                ])
            }
            if let pause = RetryAfter.pause(field, now: now) { #expect(pause >= .zero, "seed \(seed): \(field)") }
        }
    }

    @Test("URLs: a parsed URL parses again with the same origin, and its canonical text is stable")
    func urls() {
        for seed in Fuzz.seeds(percent: 10) {
            var random = SeededGenerator(seed: seed)
            let text =
                random.pick(["", "http://", "https://h", "HTTP://H:80/"])
                + random.text(of: [
                    "h", ".", ":", "80", "@", "[", "]", "::1", "%", "%2F", "%zz", "?", "#", "&", "=", "/", "..", "é",
                    " ", "\u{0}", "a=b",
                    "page=1", "token", "\\", "^", "|", "{", "\"", "//", "xn--", "😀",
                ])
            guard let url = OriginURL(text) else { continue }
            var changed = url
            changed.set("a b&", "c=d&é")
            #expect(OriginURL(changed.text)?.value(of: "a b&") == "c=d&é", "seed \(seed): \(text)")
            #expect(OriginURL(url.text)?.hasSameOrigin(as: url) == true, "seed \(seed): \(text)")
            if let next = url.resolving(random.text(of: ["/", "?", "a", "..", "%", "://", "http", "é", "#"])) {
                _ = next.text
            }
            let key = url.canonicalText(without: [])
            #expect(OriginURL(key)?.canonicalText(without: []) == key, "seed \(seed): \(text)")
        }
    }

    @Test("Detection: any answer leads to a page or a failure, within the request budget")
    func detection() async throws {
        var pages = 0
        let seeds = Fuzz.seeds(percent: 10)
        for seed in seeds {
            let origin = RandomOrigin(seed: seed)
            let source = try HTTPSource(HTTPSourceConfiguration(url: "http://h/api?page=1"), transport: origin)
            var target = PageRequest.Target.first
            for _ in 0..<3 {
                guard case .page(let page) = try await answer(source, target, seed) else { break }
                pages += 1
                for index in 0..<page.content.count {
                    #expect(
                        (try? JSONDocument(Array(page.content.payload(at: index)), depthLimit: 64)) != nil,
                        "seed \(seed)")
                }
                if let next = page.next { target = .cursor(next) } else { target = .offset(page.content.count) }
            }
            // Detection has a budget of requests. Each of these requests and each page may follow five redirects.
            #expect(source.usage.requests <= (HTTPSource.detectionBudget + 3) * 6, "seed \(seed)")
        }
        // Some answers must contain a page. Otherwise the test covers only the first check.
        if seeds.count >= 100 { #expect(pages > seeds.count / 5) }
    }

    /// Returns nil for a `FetchFailure` with a message. Any other error fails the test.
    private func answer(_ source: HTTPSource, _ target: PageRequest.Target, _ seed: UInt64) async throws
        -> PageAnswer?
    {
        do {
            return try await source.fetch(PageRequest(target))
        } catch let failure as FetchFailure {
            #expect(!failure.message.isEmpty, "seed \(seed)")
            return nil
        } catch {
            Issue.record("seed \(seed): \(error)")
            return nil
        }
    }
}

/// An origin whose answers depend only on its seed: lists in many shapes, other values, and damaged bytes.
private final class RandomOrigin: HTTPTransport {
    private let generator: Mutex<JSONGenerator>

    init(seed: UInt64) { generator = Mutex(JSONGenerator(seed: seed)) }

    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        generator.withLock { generator in
            let odd = generator.random.pick([203, 204, 206, 301, 302, 304, 400, 404, 429, 500, 99, 700])
            let status = generator.random.isLikely(85) ? 200 : odd
            let body = generator.random.isLikely(85) ? generator.envelope() : generator.text()
            let headers = generator.headers()
            let bytes = Array(body.utf8)
            return HTTPPageResponse(
                status: status, headers: headers,
                body: generator.random.isLikely(25) ? damaged(bytes, &generator.random) : bytes)
        }
    }
}

extension JSONGenerator {
    /// Returns a plausible answer of an API: a list and some members that describe it.
    fileprivate mutating func envelope() -> String {
        let count = random.pick([0, 1, 2, 5, 20])
        let first = random.number(below: 100)
        let list = "[" + (0..<count).map { item(first + $0) }.joined(separator: ",") + "]"
        if random.isLikely(20) { return list }
        var members = ["\"\(random.pick(["items", "results", "data", "x", ""]))\":\(list)"]
        for _ in 0..<random.number(below: 5) {
            let name = random.pick([
                "total", "count", "totalPages", "next", "next_url", "meta", "links", "paging", "has_more", "error",
                "primary_keys",
                "a/b~c", "\u{301}",
            ])
            members.append("\"\(name)\":\(detail())")
        }
        if random.isLikely(50) { members.reverse() }
        let object = "{" + members.joined(separator: ",") + "}"
        return random.isLikely(20) ? #"{"response":\#(object)}"# : object
    }

    private mutating func item(_ number: Int) -> String {
        switch random.number(below: 10) {
        case 0: string()
        case 1: value(depth: 4)
        default: #"{"id":\#(random.isLikely(90) ? "\(number)" : value(depth: 4)),"v":\#(value(depth: 4))}"#
        }
    }

    private mutating func detail() -> String {
        random.pick([
            "0", "1", "-5", "20", "1e400", "10000000000000000000", "\"45\"", "\"\"", "null", "true",
            #""http://h/api?page=2""#,
            #""/api?offset=20&limit=20""#, #""?page=99999999999999999999""#, #""https://other/x""#, #""http://[""#,
            #""\ud800""#, #"["id"]"#,
            #"{"next":"/api?page=2","total":45,"href":"/x"}"#, #"{"next":{"href":"?after=%zz"}}"#,
        ])
    }

    fileprivate mutating func headers() -> [HTTPField] {
        var fields: [HTTPField] = []
        for _ in 0..<random.number(below: 4) {
            let name = random.pick([
                "Link", "link", "X-Total-Count", "Content-Range", "Next-Page", "ETag", "Location", "Retry-After",
                "Date", "", "Total-Time",
            ])
            let value = random.pick([
                #"<http://h/api?page=2>; rel="next""#, "</api?offset=5>; rel=next", "<", "45", "-1", "items 0-4/45",
                "items 0-4/*",
                "1e400", "", "/api", "http://h/loop", "https://other/", "\"tag\"", "Sun, 06 Nov 1994 08:49:37 GMT",
                "99999999999999999999",
                "\u{0}", "é",
            ])
            fields.append(HTTPField(name, value))
        }
        return fields
    }
}

extension SeededGenerator {
    /// Returns a concatenation of some of these pieces.
    fileprivate mutating func text(of pieces: [String]) -> String {
        var text = ""
        for _ in 0..<number(below: 12) { text += pick(pieces) }
        return text
    }
}
#endif
