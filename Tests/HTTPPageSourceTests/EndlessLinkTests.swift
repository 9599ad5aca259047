#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Next links, and statements that more items follow, that never end")
struct EndlessLinkTests {
    private static func page(_ start: Int) -> Range<Int> {
        let start = min(max(start, 0), 95)
        return min(start, 95)..<min(start + 20, 95)
    }

    @Test("A link with another value in each answer is followed 1,000 times once, and 20 times in each later run")
    func nonce() async throws {
        let number = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            let nonce = number.withLock {
                $0 += 1
                return $0
            }
            let next = "/api?limit=20&offset=\(start + 20)&nonce=\(nonce)"
            return .json(#"{"data":[\#(objects(Self.page(start)))],"next":"\#(next)"}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.outcome) == [.unproven, .unproven])
        #expect(runs.map(\.held) == [95, 95])
        #expect(runs[1].requests <= 30, "\(runs.map(\.requests))")
    }

    @Test("An empty list whose link has another value in each answer is followed 20 times in each later run")
    func emptyNonce() async throws {
        let number = Mutex(0)
        let origin = ScriptedOrigin { _, _ in
            let nonce = number.withLock {
                $0 += 1
                return $0
            }
            return .json(#"{"data":[],"next":"/api?limit=20&nonce=\#(nonce)"}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.allSatisfy { $0.outcome != .complete })
        #expect(runs[1].requests <= 30, "\(runs.map(\.requests))")
    }

    @Test(
        "A numbered link that every answer has, even far behind the end, does not continue the list",
        arguments: [0, 3, 40, 95], ["offset", "page"])
    func always(count: Int, parameter: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let isPage = parameter == "page"
            let number = url.number(parameter) ?? (isPage ? 1 : 0)
            let start = min(isPage ? (number - 1) * 20 : number, count)
            let next = "http://h/api?limit=20&\(parameter)=\(isPage ? number + 1 : number + 20)"
            return .json(#"{"data":[\#(objects(from: start, 20, of: count))],"next":"\#(next)"}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.outcome) == [.complete, .complete])
        #expect(runs.allSatisfy { $0.held ?? 0 == count })
        #expect(runs[0].requests <= count / 20 + 18, "\(origin.urls)")
        #expect(runs[1].requests <= 17, "\(origin.urls)")
    }

    @Test("A run ends soon at an origin that repeats its last page for later positions and always states more items")
    func lastPageAgain() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            return .json(#"{"items":[\#(objects(Self.page(start < 95 ? start : 80)))],"hasMore":true}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.outcome) == [.unproven, .unproven])
        #expect(runs.map(\.held) == [95, 95])
        #expect(runs.allSatisfy { $0.requests <= 25 }, "\(runs.map(\.requests)) \(origin.urls)")
    }

    @Test(
        "A page in the middle that lacks its items does not end a list whose numbered link ends", arguments: [20, 60])
    func hole(at hole: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let shown = Self.page(url.number("offset") ?? 0), end = shown.upperBound
            let items = shown.lowerBound == hole ? "" : objects(shown)
            let next = end < 95 ? #""/api?limit=20&offset=\#(end)""# : "null"
            return .json(#"{"data":[\#(items)],"next":\#(next)}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.held) == [75, 75])
        let far = origin.urls.filter { OriginURL($0)?.number("offset") ?? 0 > 95 }
        #expect(far.count <= 2, "at most one request a run: \(far)")
    }

    @Test(
        "A numbered link behind a total that is too large is not followed past that total",
        arguments: ["offset", "page"])
    func overcount(parameter: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let isPage = parameter == "page"
            let number = url.number(parameter) ?? (isPage ? 1 : 0)
            let shown = Self.page(isPage ? (number - 1) * 20 : number)
            let next = "http://h/api?limit=20&\(parameter)=\(isPage ? number + 1 : number + 20)"
            return .json(#"{"total":102,"data":[\#(objects(shown))],"next":"\#(next)"}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.held) == [95, 95])
        #expect(runs.allSatisfy { $0.requests <= 60 }, "\(runs.map(\.requests))")
    }
}
#endif
