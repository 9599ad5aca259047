#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: when an unproven list is searched again")
struct RepeatedSearchTests {
    private let clock = ManualClock()

    /// Fetches page one as a new process does. Returns the number of requests, and the profile to store.
    private func run(
        _ origin: ScriptedOrigin, _ stored: String?, url: String = "http://h/api"
    ) async throws -> (requests: Int, page: FetchedPage) {
        let before = origin.requests.count
        let source = try HTTPSource(
            HTTPSourceConfiguration(url: url), stored: stored, transport: origin, clock: clock)
        let page = try await source.first()
        return (origin.requests.count - before, page)
    }

    @Test("An unproven list is searched again when page one has changed, and after a day, two days, four and a week")
    func pauses() async throws {
        let first = Mutex(0)
        let origin = ScriptedOrigin { _, _ in
            let first = first.withLock { $0 }
            return .json(#"{"items":[\#(objects(first..<first + 20))]}"#)
        }
        var (spent, page) = try await run(origin, nil)
        let warnings = page.detectedPaging?.warnings
        #expect(spent > 1)
        #expect(warnings?.first?.contains("full page of 20 items") == true)
        for days in [1, 2, 4, 7, 7] {
            let stored = page.detectedPaging?.source
            clock.advance(by: .seconds(86_400 * days - 1))
            (spent, page) = try await run(origin, stored)
            #expect(spent == 1, "\(days) days have not passed")
            #expect(page.hasMore == true)
            #expect(page.detectedPaging?.warnings == warnings)
            #expect(page.detectedPaging?.source == stored, "nothing is written again")
            clock.advance(by: .seconds(1))
            (spent, page) = try await run(origin, page.detectedPaging?.source)
            #expect(spent > 1, "\(days) days")
        }
        first.withLock { $0 = 1 }
        (spent, page) = try await run(origin, page.detectedPaging?.source)
        #expect(spent > 1, "page one has changed")
    }

    @Test("A token that page one shows for the first time starts a search at once")
    func newWay() async throws {
        let hasToken = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("cursor") ?? 0, end = min(start + 20, 45)
            let next = hasToken.withLock { $0 } && end < 45 ? #","next_cursor":"\#(end)""# : ""
            return .json(#"{"items":[\#(objects(start..<end))]\#(next)}"#)
        }
        var (_, page) = try await run(origin, nil)
        #expect(page.hasMore == true)
        hasToken.withLock { $0 = true }
        (_, page) = try await run(origin, page.detectedPaging?.source)
        #expect(page.next != nil)
    }

    @Test("A list with a total above page one is searched again after an hour, a day, two days, four and a week")
    func counted() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"items":[\#(objects(0..<17))],"total":95}"#) }
        var (spent, page) = try await run(origin, nil)
        for hours in [1, 24, 48, 96, 168, 168] {
            clock.advance(by: .seconds(3_600 * hours - 1))
            (spent, page) = try await run(origin, page.detectedPaging?.source)
            #expect(spent == 1, "\(hours) hours have not passed")
            clock.advance(by: .seconds(1))
            (spent, page) = try await run(origin, page.detectedPaging?.source)
            #expect(spent > 1, "\(hours) hours")
        }
    }

    @Test(
        "A search in which each request failed, or was refused with a status that may be a fault, is repeated",
        arguments: [500, 404, 403])
    func refused(status: Int) async throws {
        let isDown = Mutex(true)
        let origin = ScriptedOrigin { url, _ in
            if !url.parameters.isEmpty, isDown.withLock({ $0 }) { return HTTPPageResponse(status: status) }
            let start = min(url.number("offset") ?? 0, 45)
            return .json(#"{"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        var (_, page) = try await run(origin, nil)
        #expect(page.hasMore == true)
        isDown.withLock { $0 = false }
        (_, page) = try await run(origin, page.detectedPaging?.source)
        #expect(page.detectedPaging?.paging == "offset")
    }

    @Test("After three disturbed searches the next one follows after an hour, then after two hours")
    func outage() async throws {
        let isDown = Mutex(true)
        let origin = ScriptedOrigin { url, _ in
            if !url.parameters.isEmpty, isDown.withLock({ $0 }) { return HTTPPageResponse(status: 404) }
            return .json(#"{"items":[\#(objects(from: url.number("offset") ?? 0, 20, of: 45))]}"#)
        }
        var stored: String?
        for number in 1...3 {
            let (spent, page) = try await run(origin, stored)
            stored = page.detectedPaging?.source ?? stored
            #expect(spent > 1, "search \(number)")
        }
        for hours in [1, 2] {
            clock.advance(by: .seconds(3_600 * hours - 1))
            let early = try await run(origin, stored)
            #expect(early.requests == 1, "\(hours) hours have not passed")
            #expect(early.page.hasMore == true)
            clock.advance(by: .seconds(1))
            let due = try await run(origin, stored)
            stored = due.page.detectedPaging?.source ?? stored
            #expect(due.requests > 1, "\(hours) hours")
        }
        isDown.withLock { $0 = false }
        clock.advance(by: .seconds(4 * 3_600))
        #expect(try await run(origin, stored).page.detectedPaging?.paging == "offset")
    }

    @Test("One answer without items to a token is requested again, if page one shows that more items follow")
    func emptyOnce() async throws {
        let requestCount = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let start = url.value(of: "cursor").flatMap { Int($0.dropFirst()) } ?? 0
            let number = requestCount.withLock { requestCount -> Int in
                if start > 0 { requestCount += 1 }
                return requestCount
            }
            if start > 0, number == 1 { return .json(#"{"items":[],"total":95}"#) }
            let next = start < 80 ? "\"t\(start + 20)\"" : "null"
            return .json(#"{"items":[\#(objects(from: start, 20, of: 95))],"total":95,"next_cursor":\#(next)}"#)
        }
        let (_, page) = try await run(origin, nil)
        #expect(page.detectedPaging?.paging == "cursor", "\(origin.urls)")
    }

    @Test("A later run of a whole list as long as the size in the URL sends two requests, until the list grows")
    func wholeBySize() async throws {
        let count = Mutex(5), url = "http://h/api?limit=5"
        let origin = ScriptedOrigin { url, _ in
            .json("[\(objects(0..<min(count.withLock { $0 }, url.number("limit") ?? 20)))]")
        }
        let (_, page) = try await run(origin, nil, url: url)
        #expect(page.hasMore != true)
        let stored = page.detectedPaging?.source
        let again = try await run(origin, stored, url: url)
        #expect(again.requests == 2, "\(origin.urls)")
        #expect(again.page.hasMore != true)
        count.withLock { $0 = 6 }
        #expect(try await run(origin, stored, url: url).page.hasMore == true)
    }

    @Test("Candidates that were rejected before a change of page one are tried again")
    func pageInserted() async throws {
        let requestCount = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let count = requestCount.withLock {
                $0 += 1
                return $0 == 1 ? 95 : 115
            }
            let start = url.number("offset") ?? 0
            // The ids of the list are 0..<95 at the first request, and -20..<95 afterwards.
            let shown = start + 95 - count..<min(start + 20, count) + 95 - count
            return .json(#"{"items":[\#(objects(shown))],"total":\#(count)}"#)
        }
        let (_, page) = try await run(origin, nil)
        #expect(page.detectedPaging?.paging == "offset", "\(origin.urls)")
        #expect(page.content.ids.first == "-20")
    }

    @Test("A search during which the list changed is repeated, and finds positions from 1", arguments: 2...8)
    func changed(at request: Int) async throws {
        let requestCount = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let first = requestCount.withLock {
                $0 += 1
                return $0 < request ? 0 : -1
            }
            let start = (url.number("start") ?? 1) - 1
            guard start >= 0, url.parameters.allSatisfy({ $0.plainName == "start" }) else {
                return .json(#"{"error":"unknown parameter"}"#, status: 400)
            }
            let shown = min(first + start, 50)..<min(first + start + 20, 50)
            return .json(#"{"status":{"total_count":\#(50 - first)},"data":[\#(objects(shown))]}"#)
        }
        var stored: String?
        for _ in 0..<2 {
            let (_, page) = try await run(origin, stored)
            stored = page.detectedPaging?.source ?? stored
        }
        let profile = try #require(stored.flatMap { PagingProfile(json: $0) })
        #expect(profile.style == .offset && profile.firstOffset == 1, "\(origin.urls)")
    }

    @Test("A 404 that was a fault does not make a part complete: the request is repeated at the end of the search")
    func oneMiss() async throws {
        let requestCount = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let number = requestCount.withLock {
                $0 += 1
                return $0
            }
            if number == 2 { return HTTPPageResponse(status: 404) }
            let start = min(url.number("offset") ?? 0, 13)
            return .json("[\(objects(from: start, 7, of: 13))]")
        }
        var (_, page) = try await run(origin, nil)
        #expect(page.hasMore == true)
        (_, page) = try await run(origin, page.detectedPaging?.source)
        #expect(page.detectedPaging?.paging == "offset")
    }

    @Test("A search in which every candidate was refused is repeated, three times at most", arguments: [404, 403])
    func allRefused(status: Int) async throws {
        for isFault in [true, false] {
            let isDown = Mutex(true)
            let origin = ScriptedOrigin { url, _ in
                if !url.parameters.isEmpty, isDown.withLock({ $0 }) { return HTTPPageResponse(status: status) }
                return .json("[\(objects(from: url.number("offset") ?? 0, 7, of: 13))]")
            }
            var stored: String?
            for number in 1...3 {
                if number == 3, isFault { isDown.withLock { $0 = false } }
                let (spent, page) = try await run(origin, stored)
                stored = page.detectedPaging?.source ?? stored
                #expect(spent > 1, "search \(number)")
            }
            #expect(stored.flatMap { PagingProfile(json: $0) }?.style == (isFault ? .offset : PagingProfile.Style.none))
            if !isFault { #expect(try await run(origin, stored).requests == 1) }
        }
    }

    @Test("A complete list whose origin answers some parameters with 404 is searched once")
    func habit() async throws {
        let origin = ScriptedOrigin { url, _ in
            url.number("page") ?? 0 > 0 ? HTTPPageResponse(status: 404) : .json("[\(objects(0..<1))]")
        }
        let (_, page) = try await run(origin, nil)
        #expect(page.hasMore != true)
        let again = try await run(origin, page.detectedPaging?.source)
        #expect(again.requests == 1, "\(origin.urls)")
        #expect(again.page.hasMore != true)
    }

    @Test("A complete list is not searched again, also if its origin leaves out the member of the items behind the end")
    func complete() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            guard start.isMultiple(of: 20) else { return HTTPPageResponse(status: 400) }
            let items = start < 20 ? #","itemSummaries":[\#(objects(0..<20))]"# : ""
            return .json(#"{"total":20,"limit":20,"offset":\#(start)\#(items)}"#)
        }
        let (_, page) = try await run(origin, nil)
        #expect(page.total == .exact(20))
        #expect(page.hasMore != true, "\(page.detectedPaging?.warnings ?? [])")
        let again = try await run(origin, page.detectedPaging?.source)
        #expect(again.requests == 1)
        #expect(again.page.hasMore != true)
    }
}
#endif
