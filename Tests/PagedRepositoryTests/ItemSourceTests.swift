import PageModel
import Synchronization
import Testing

@testable import PagedRepository

private func page(_ answer: PageAnswer) throws -> FetchedPage {
    guard case .page(let page) = answer else {
        Issue.record("\(answer) is not a page")
        throw CancellationError()
    }
    return page
}

@Suite("Source of typed items")
struct ItemSourceTests {
    private struct Plain: Codable, Hashable, Sendable { var slug: String }

    @Test("A page size below 1 is refused when it is made, before any source (X8)", arguments: [0, -1, .min])
    func pageSize(size: Int) {
        let refused = SourceDefinitionError.pageSize(size)
        #expect(refused.code == .pageSize)
        #expect(throws: refused) { try PageSize(size) }
    }

    @Test("Each style of paging receives its own parameters, with the requested size or its own default")
    func questions() async throws {
        let asked = Mutex<[String]>([])
        @Sendable func note(_ text: String) { asked.withLock { $0.append(text) } }
        let offsets = ItemSource.offsets(pageSize: 10) { offset, size in
            note("\(offset) \(size)")
            return [Plain]()
        }
        let pages = ItemSource.pages(size: 10, firstNumber: 0) { number, size in
            note("\(number) \(size)")
            return [Plain]()
        }
        let cursors = ItemSource.cursors { (cursor: String?, size) in
            note("\(cursor ?? "-") \(size ?? 0)")
            return CursorPage<Plain, String>(items: [], next: nil)
        }
        #expect(offsets.access == .offsets)
        #expect(pages.access == .grid(size: 10))
        #expect(cursors.access == .chain)
        for source: any PageSource in [offsets, pages] {
            for target in [PageRequest.Target.first, .offset(30)] {
                for size in [nil, 4] { _ = try await source.fetch(PageRequest(target, size: size)) }
                _ = try await source.fetch(PageRequest(.first))
            }
        }
        for size in [nil, 4] { _ = try await cursors.fetch(PageRequest(.cursor(PageCursor(#""é""#)), size: size)) }
        // A page number with another size would name another position. Only page one can be requested with another
        // size.
        #expect(
            asked.withLock { $0 } == ["0 10", "0 4", "0 10", "30 10", "30 4", "0 10"]
                + ["0 10", "0 4", "0 10", "3 10", "3 10", "0 10"] + ["é 0", "é 4"])
    }

    @Test("With page numbers, each page is requested with the size of page one's request, whatever page one returns")
    func requestedSize() async throws {
        let asked = Mutex<[String]>([])
        let source = ItemSource.pages(size: 10) { number, size in
            asked.withLock { $0.append("\(number) \(size)") }
            return ItemPage(items: Song.list(number == 1 ? 9 : 10), hasMore: true)
        }
        for target in [PageRequest.Target.first, .offset(9), .offset(18)] {
            _ = try await source.fetch(PageRequest(target))
        }
        #expect(asked.withLock { $0 } == ["1 10", "2 10", "3 10"])
    }

    @Test("A page after the largest number is refused, and the pages before it are fetched")
    func largestNumber() async throws {
        let source = ItemSource.pages(size: 10, firstNumber: Int.max - 1) { number, _ in [Plain(slug: "\(number)")] }
        let last = try await page(source.fetch(PageRequest(.offset(10))))
        #expect(last.content.count == 1)
        let failure = await #expect(throws: FetchFailure.self) { try await source.fetch(PageRequest(.offset(20))) }
        #expect(failure?.failureClass == .rejected && failure?.isRetryable == false)
    }

    @Test("A target that a style of paging cannot express is refused without a request")
    func notAskedThisWay() async throws {
        for style in Style.allCases {
            let source = try style.source(Jukebox(48))
            var targets = [PageRequest.Target.cursor(PageCursor("{"))]
            if source.access == .chain { targets.append(.offset(10)) }
            // A position between two pages.
            if style == .pages { targets.append(.offset(7)) }
            for target in targets {
                let failure = await #expect(throws: FetchFailure.self) { try await source.fetch(PageRequest(target)) }
                #expect(failure?.failureClass == .rejected)
                #expect(failure?.isRetryable == false)
            }
            #expect(source.usage.requests == 0)
        }
    }

    @Test("All copies of a source count their requests and encoded bytes together")
    func usage() async throws {
        let source = ItemSource.offsets(pageSize: 2) { offset, _ in
            if offset > 0 { throw FetchFailure.status(500) }
            return ["a", "é"]
        }
        let copy = source
        _ = try await source.fetch(PageRequest(.first))
        _ = try? await copy.fetch(PageRequest(.offset(2)))
        #expect(source.usage == SourceUsage(requests: 2, failures: 1, bytesReceived: 3 + 4))
        #expect(copy.usage == source.usage)
    }

    @Test("A cancelled call does not count as a failed request, and a call that takes too long does")
    func cancelledCall() async throws {
        var source = ItemSource<Song>.offsets(pageSize: 1) { _, _ -> [Song] in
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw CancellationError()
        }
        let call = Task { [source] in try await source.fetch(PageRequest(.first)) }
        while source.usage.requests == 0 { await Task.yield() }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        while source.usage.cancelled == 0 { await Task.yield() }
        #expect(source.usage.requests == 1 && source.usage.failures == 0)
        source.timeLimit = .milliseconds(5)
        await #expect(throws: FetchFailure.self) { try await source.fetch(PageRequest(.first)) }
        #expect(source.usage.requests == 2 && source.usage.failures == 1)
    }

    @Test("A closure that never returns times out, and the request may be retried (X14)")
    func timeLimit() async throws {
        var source = ItemSource<Song>.offsets(pageSize: 1) { _, _ -> [Song] in
            // The loop ends only when its task is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return []
        }
        source.timeLimit = .milliseconds(5)
        let failure = await #expect(throws: FetchFailure.self) { try await source.fetch(PageRequest(.first)) }
        #expect(failure?.failureClass == .timeout)
        #expect(failure?.isRetryable == true)
    }

    @Test("Item ids come from identifiable values or from a given key path, and are absent otherwise (R17)")
    func ids() async throws {
        final class Record: Identifiable, Codable, Sendable {}
        func ids<Value>(_ source: ItemSource<Value>) async throws -> [String?] {
            guard case .page(let answer) = try await source.fetch(PageRequest(.first)) else { return [] }
            return Array(answer.content.ids)
        }
        let song = Song(id: 7, title: "x")
        #expect(try await ids(.offsets(pageSize: 1) { _, _ in [song] }) == ["7"])
        #expect(try await ids(.offsets(pageSize: 1, id: \.title) { _, _ in [song] }) == ["x"])
        #expect(try await ids(.offsets(pageSize: 1, id: nil) { _, _ in [song] }) == [nil])
        #expect(try await ids(.offsets(pageSize: 1) { _, _ in [Plain(slug: "s")] }) == [nil])
        #expect(try await ids(.offsets(pageSize: 1) { _, _ in [Record()] }) == [nil], "an address is not an id")
    }

    @Test(
        "A source passes on the errors of its closure; a missing position is the end, and an undecodable answer fails permanently"
    )
    func errors() async throws {
        struct Odd: Error, Equatable {}
        let thrown = Mutex<any Error>(Odd())
        let source = ItemSource.offsets(pageSize: 10) { _, _ -> [Plain] in throw thrown.withLock { $0 } }
        func fetch(_ target: PageRequest.Target, _ error: any Error) async throws -> PageAnswer {
            thrown.withLock { $0 = error }
            return try await source.fetch(PageRequest(target))
        }
        await #expect(throws: Odd()) { try await fetch(.first, Odd()) }
        await #expect(throws: CancellationError.self) { try await fetch(.offset(10), CancellationError()) }
        for status in [401, 422, 429, 503] {
            await #expect(throws: FetchFailure.status(status)) {
                try await fetch(.offset(10), FetchFailure.status(status))
            }
        }
        // A position that is missing after page one is the end of the list (R24).
        for status in [400, 404, 416] {
            #expect(try await fetch(.offset(10), FetchFailure.status(status)) == (status == 404 ? .notFound : .pastEnd))
            await #expect(throws: FetchFailure.status(status)) { try await fetch(.first, FetchFailure.status(status)) }
        }
        // An undecodable answer is a permanent failure, and its message reveals no content (R27).
        let garbled = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "secret"))
        let error = try #require(await #expect(throws: DecodingError.self) { try await fetch(.first, garbled) })
        let failure = FetchFailure(thrownBySource: error, keepsWords: true)
        #expect(failure.failureClass == .undecodable)
        #expect(!failure.isRetryable && !failure.message.contains("secret"))
    }

    @Test("A value or a cursor that cannot be encoded fails the page permanently")
    func encoding() async throws {
        struct Stubborn: Codable, Sendable {
            init() {}
            init(from decoder: any Decoder) {}
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let sources: [any PageSource] = [
            ItemSource.offsets(pageSize: 1) { _, _ in [Stubborn()] },
            ItemSource.cursors { (_: Stubborn?, _) in CursorPage(items: [1], next: Stubborn()) },
            ItemSource.afterLast(pageSize: 1) { (_: Stubborn?, _) in [Stubborn()] },
        ]
        for source in sources {
            let failure = await #expect(throws: FetchFailure.self) { try await source.fetch(PageRequest(.first)) }
            #expect(failure?.failureClass == .undecodable)
            #expect(failure?.isRetryable == false)
        }
    }

    @Test(
        "An item is the cursor to the next page when more items follow, and there is no cursor at the end (R24)",
        arguments: [
            // The columns: items, total, hasMore, whether page one has a next page, and whether a later page has one.
            (10, nil, nil, true, true), (9, nil, nil, false, false), (11, nil, nil, true, true),
            (0, nil, nil, false, false),
            (10, 10, nil, false, true), (10, 11, nil, true, true), (9, 48, nil, true, true), (9, 9, nil, false, true),
            (10, 48, false, false, false), (9, 9, true, true, true), (0, 48, true, false, false),
        ] as [(Int, Int?, Bool?, Bool, Bool)])
    func afterLast(items: Int, total: Int?, hasMore: Bool?, first: Bool, later: Bool) async throws {
        let source = ItemSource.afterLast(pageSize: 10) { _, _ in
            ItemPage(items: Song.list(items), total: total, hasMore: hasMore)
        }
        let start = try page(try await source.fetch(PageRequest(.first)))
        #expect((start.next != nil) == first)
        #expect(start.total == total.map { .exact($0) } ?? .unknown)
        #expect(start.hasMore == hasMore)
        guard let next = start.next else { return }
        #expect(try (page(try await source.fetch(PageRequest(.cursor(next)))).next != nil) == later)
    }

    @Test("A cursor on a page marked as the last is dropped, and equal cursors are stored as equal texts (R24)")
    func cursors() async throws {
        func next(_ hasMore: Bool?) async throws -> PageCursor? {
            let source = ItemSource.cursors { (_: Bookmark?, _) in
                CursorPage(items: [1], next: Bookmark(after: 10), total: 1, hasMore: hasMore)
            }
            return try page(try await source.fetch(PageRequest(.first))).next
        }
        #expect(try await next(false) == nil)
        #expect(try await next(true) == PageCursor(#"{"after":10,"shelf":"a/b"}"#))
        #expect(try await next(nil) == next(true))
    }

    @Test("With page numbers, a later page of another size is refused while the size of page one is unknown")
    func unknownGrid() async throws {
        func answer(_ count: Int, total: Int? = nil, hasMore: Bool? = nil, after first: Int? = nil) async throws
            -> PagingAccess?
        {
            let source = ItemSource.pages(size: 10) { number, _ in
                number == 1
                    ? ItemPage(items: Song.list(first ?? 10), hasMore: true)
                    : ItemPage(items: Song.list(count), total: total, hasMore: hasMore)
            }
            if first != nil { _ = try await source.fetch(PageRequest(.first)) }
            do {
                _ = try await source.fetch(PageRequest(.offset(20)))
                return source.access
            } catch let failure as FetchFailure {
                #expect(failure.failureClass == .undecodable)
                return nil
            }
        }
        for fit in [(10, nil, nil), (10, 99, true), (8, 28, nil), (8, nil, nil), (8, nil, false), (0, 99, nil)]
            as [(Int, Int?, Bool?)]
        {
            #expect(try await answer(fit.0, total: fit.1, hasMore: fit.2) == .grid(size: 10), "\(fit)")
        }
        for unfit in [(5, 99, nil), (8, 27, nil), (5, nil, true), (25, nil, nil), (25, nil, false)]
            as [(Int, Int?, Bool?)]
        {
            #expect(try await answer(unfit.0, total: unfit.1, hasMore: unfit.2) == nil, "\(unfit)")
        }
        #expect(try await answer(3, total: 99, after: 5) == .grid(size: 5))
        #expect(try await answer(3, total: 99, after: 10) == .grid(size: 10))
    }

    @Test("Only page one carries the detected paging")
    func detectedPaging() async throws {
        for style in Style.allCases {
            let source = try style.source(Jukebox(48))
            let first = try page(try await source.fetch(PageRequest(.first)))
            #expect(first.detectedPaging?.source == #"{"codec":"json/1"}"#)
            #expect(first.detectedPaging?.warnings == [])
            let next = try await source.fetch(PageRequest(first.next.map { .cursor($0) } ?? .offset(10)))
            #expect(try page(next).detectedPaging == nil)
            #expect(try page(next).content.ids.first == "110")
        }
    }

    @Test("Custom response types convert to item pages")
    func responses() async throws {
        struct Counted: PaginatedResponse { let items: [Int], total: Int }
        struct Uncounted: PaginatedResponse { let items: [Int] }
        struct Perhaps: PaginatedResponse { let items: [Int], total: Int?, hasMore: Bool? }
        struct Certain<Element: Sendable>: PaginatedResponse { let items: [Element], total: ListTotal, hasMore: Bool }
        struct Renamed: PaginatedResponse {
            let results: [Int], count: Int
            var items: [Int] { results }
            var total: Int { count }
        }
        func check(_ response: some ItemPageConvertible<Int>, _ total: ListTotal, _ hasMore: Bool?) {
            #expect(response.itemPage.items == [1, 2])
            #expect(response.itemPage.total == total)
            #expect(response.itemPage.hasMore == hasMore)
        }
        check(Counted(items: [1, 2], total: 48), .exact(48), nil)
        check(Counted(items: [1, 2], total: -1), .unknown, nil)
        check(Counted(items: [1, 2], total: .max), .estimate(ListTotal.largest), nil)
        check(Uncounted(items: [1, 2]), .unknown, nil)
        check(Perhaps(items: [1, 2], total: nil, hasMore: nil), .unknown, nil)
        check(Perhaps(items: [1, 2], total: 2, hasMore: true), .exact(2), true)
        check(Certain(items: [1, 2], total: .estimate(9), hasMore: false), .estimate(9), false)
        check(Renamed(results: [1, 2], count: 5), .exact(5), nil)
        check([1, 2], .unknown, nil)
        check(ItemPage(items: [1, 2], total: nil), .unknown, nil)
        check(ItemPage(items: [1, 2], total: 3, hasMore: false), .exact(3), false)
    }
}
