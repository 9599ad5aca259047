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
    private func run(_ origin: ScriptedOrigin, _ stored: String?) async throws -> (requests: Int, page: FetchedPage) {
        let before = origin.requests.count
        let source = try HTTPSource(
            HTTPSourceConfiguration(url: "http://h/api"), stored: stored, transport: origin, clock: clock)
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

    @Test("A way on that page one shows for the first time is tried at once")
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

    @Test("After a fault the next run searches again")
    func fault() async throws {
        let isDown = Mutex(true)
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            if start > 0, isDown.withLock({ $0 }) { return HTTPPageResponse(status: 500) }
            return .json(#"{"items":[\#(objects(start..<min(start + 20, 45)))]}"#)
        }
        var (_, page) = try await run(origin, nil)
        #expect(page.hasMore == true)
        isDown.withLock { $0 = false }
        (_, page) = try await run(origin, page.detectedPaging?.source)
        #expect(page.detectedPaging?.paging == "offset")
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
