#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("An end that answers show, beside a total that is too large or too small, and while the list changes")
struct ExplicitEndTests {
    /// How the last page shows that no page follows.
    enum End: String, CaseIterable { case nullLink, noMore, nothing }

    /// An origin of `count` items that counts `total`, by offset.
    private func origin(_ count: Int, total: Int, _ end: End) -> ScriptedOrigin {
        ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, count), behind = min(start + 20, count)
            let isLast = behind == count
            let more =
                switch end {
                case .nullLink: #","next":\#(isLast ? "null" : #""/api?limit=20&offset=\#(behind)""#)"#
                case .noMore: #","has_more":\#(!isLast)"#
                case .nothing: ""
                }
            return .json(#"{"total":\#(total),"items":[\#(objects(start..<behind))]\#(more)}"#)
        }
    }

    @Test(
        "A list whose total counts one or two pages too many is complete, if an answer shows its end",
        arguments: End.allCases,
        [115, 135])
    func overcounted(end: End, total: Int) async throws {
        let runs = try await synchroniseTwice(origin(95, total: total, end))
        #expect(runs.map(\.outcome) == [.complete, .complete], "\(end)")
        #expect(runs.map(\.held) == [95, 95])
        #expect(runs[1].requests <= 2)
    }

    @Test(
        "A page that is removed from the front while a chain is walked moves no item past its end",
        arguments: ["", #","has_more":"#])
    func removedFront(more: String) async throws {
        let requests = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            // The origin removes page one before the last page is requested.
            let first = requests.withLock {
                $0 += 1
                return $0 < 5 ? 0 : 20
            }
            let number = url.number("page") ?? 1
            let start = min(first + (number - 1) * 20, 95), end = min(start + 20, 95)
            let next = end < 95 ? #""/api?per_page=20&page=\#(number + 1)""# : "null"
            let stated = more.isEmpty ? "" : "\(more)\(end < 95)"
            return .json(#"{"items":[\#(objects(start..<end))],"next":\#(next)\#(stated)}"#)
        }
        let runs = try await synchroniseTwice(origin, "http://h/api?per_page=20")
        #expect(runs.map(\.outcome) == [.complete, .complete])
        #expect(runs.map(\.held) == [75, 75])
        #expect(runs[0].requests <= 14)
    }

    @Test(
        "A total that counts a page too few hides no item, and the page behind a true total is requested once",
        arguments: [60, 80],
        [false, true])
    func undercounted(total: Int, clamps: Bool) async throws {
        let origin = ScriptedOrigin { url, _ in
            let number = clamps ? min(url.number("page") ?? 1, 4) : url.number("page") ?? 1
            let start = min((number - 1) * 20, 80), end = min(start + 20, 80)
            return .json(#"{"total":\#(total),"items":[\#(objects(start..<end))]}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.outcome) == [.complete, .complete])
        #expect(runs.map(\.held) == [80, 80])
        if total == 80 {
            let behindEnd = origin.urls.filter { OriginURL($0)?.number("page") == 5 }
            #expect(behindEnd.count == 1)
            #expect(runs[1].requests == 1)
        }
    }

    @Test(
        "A list of two pages is read whole, although the origin returns its last page for each later number",
        arguments: [0, 1], [true, false])
    func clampedSecond(first: Int, saysMore: Bool) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(max((url.number("page") ?? first) - first, 0), 1) * 20
            let more = saysMore ? #","hasMore":\#(start == 0)"# : ""
            return .json(#"{"items":[\#(objects(start..<start + 20))]\#(more)}"#)
        }
        let runs = try await synchroniseTwice(origin, "http://h/api?per_page=20&page=\(first)")
        #expect(runs.map(\.outcome) == [.complete, .complete])
        #expect(runs.map(\.held) == [40, 40])
    }

    @Test("A page that is inserted behind page one during the load does not end the list with the page before it")
    func insertedBehindFirst() async throws {
        let hasInserted = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            let number = url.number("page")
            // Page 2 was read before, and page 3 is read afterwards.
            let isLater = hasInserted.withLock { inserted in
                inserted = inserted || number == 1
                return inserted
            }
            let ids = Array(0..<20) + (isLater ? Array(1_000..<1_020) : []) + Array(20..<95)
            let shown = ids.dropFirst(((number ?? 1) - 1) * 20).prefix(20)
            return .json(#"{"items":[\#(shown.map { objects($0..<$0 + 1) }.joined(separator: ","))]}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(hasInserted.withLock { $0 })
        #expect(runs.map(\.outcome) == [.complete, .complete])
        #expect(runs.map(\.held) == [115, 115])
    }

    @Test("A stated end is not requested again, where page one follows the last page")
    func wrapped() async throws {
        let origin = ScriptedOrigin { url, _ in
            let number = url.number("page") ?? 1, start = (1...3).contains(number) ? (number - 1) * 20 : 0
            return .json(#"{"items":[\#(objects(start..<start + 20))],"hasMore":\#(start < 40)}"#)
        }
        let runs = try await synchroniseTwice(origin, "http://h/api?per_page=20")
        #expect(runs.map(\.outcome) == [.complete, .complete])
        #expect(runs.map(\.held) == [60, 60])
        #expect(runs[1].requests <= 3)
    }

    @Test("A list whose total counts more than two pages too many is unproven, even if the origin states its end")
    func farBelow() async throws {
        #expect(try await synchroniseTwice(origin(25, total: 95, .nothing)).map(\.outcome) == [.unproven, .unproven])
        #expect(try await synchroniseTwice(origin(95, total: 150, .nothing)).map(\.outcome) == [.unproven, .unproven])
        #expect(try await synchroniseTwice(origin(25, total: 95, .noMore)).map(\.outcome) == [.unproven, .unproven])
    }

    @Test(
        "A full last page that states the end is the end of a result window, if the total is less than a page above it",
        arguments: [End.nullLink, .noMore], ["page", "offset"])
    func fullLastPage(end: End, name: String) async throws {
        let isPage = name == "page", total = isPage ? 59 : 60
        let origin = ScriptedOrigin { url, _ in
            let number = max(url.number(name) ?? 0, isPage ? 1 : 0), start = isPage ? (number - 1) * 20 : number
            let next = isPage ? number + 1 : start + 20, isLast = start + 20 >= 40
            let more =
                end == .noMore
                ? #","has_more":\#(!isLast)"#
                : #","next":\#(isLast ? "null" : #""/api?limit=20&\#(name)=\#(next)""#)"#
            let items = start < 40 ? objects(from: start, 20, of: total) : ""
            return .json(#"{"total":\#(total),"items":[\#(items)]\#(more)}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.outcome) == [.limited, .limited], "\(end), \(name)")
        // By offset, a page that begins inside the window shows items behind the window.
        #expect(runs.map(\.held) == (isPage ? [40, 40] : [58, 58]))
    }

    @Test("A list that states its end at a result window is unproven in each run")
    func statedWindow() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0, items = start < 100 ? objects(from: start, 20, of: 1_000) : ""
            let next = start + 20 < 100 ? #""/api?limit=20&offset=\#(start + 20)""# : "null"
            return .json(#"{"total":1000,"items":[\#(items)],"next":\#(next)}"#)
        }
        #expect(try await synchroniseTwice(origin).map(\.outcome) == [.unproven, .unproven])
    }
}
#endif
