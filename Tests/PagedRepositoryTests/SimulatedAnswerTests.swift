import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@Suite("Answers of a simulated origin")
struct SimulatedAnswerTests {
    @Test(
        "A simulated origin returns the requested size up to its largest page; page numbers keep their grid, and links keep the size of page one"
    )
    func sizes() async throws {
        func counts(_ style: OriginPlan.Style, _ sizes: [Int?]) async throws -> [Int] {
            let origin = SimulatedOrigin(OriginPlan(style: style, count: 50, pageSize: 5, largestPage: 8))
            var counts: [Int] = []
            for size in sizes { counts.append(try await origin.page(.first, size: size).content.count) }
            return counts
        }
        #expect(try await counts(.offset, [nil, 3, 8, 20]) == [5, 3, 8, 8])
        #expect(try await counts(.keyset, [nil, 3, 8, 20]) == [5, 3, 8, 8])
        #expect(try await counts(.page, [nil, 3, 8, 20]) == [5, 5, 5, 5])

        let origin = SimulatedOrigin(OriginPlan(style: .link, count: 50, pageSize: 5))
        #expect(try await origin.page(.first).next == PageCursor("page=2"))
        let next = try #require(try await origin.page(.first, size: 3).next)
        #expect(try await origin.names(.cursor(next), size: 9) == ["i3", "i4", "i5"])
    }

    @Test("Positions beyond the end are empty or refused, and page one is never refused")
    func pastEnd() async throws {
        for style in [OriginPlan.Style.offset, .page] {
            let open = SimulatedOrigin(OriginPlan(style: style, count: 10, saysHasMore: true))
            #expect(
                try await open.page(.offset(10))
                    == FetchedPage(content: PageContent(), total: .exact(10), hasMore: false))
            let strict = SimulatedOrigin(OriginPlan(style: style, count: 10, pastEnd: .refused))
            #expect(try await strict.fetch(PageRequest(.offset(10))) == .pastEnd)
            let empty = SimulatedOrigin(OriginPlan(style: style, count: 0, pastEnd: .refused))
            #expect(try await empty.names(.first) == [])
            #expect(try await empty.names(.offset(0)) == [])
        }
        // The list shrinks before the position of a cursor.
        let gone = OriginEvent.before(2, .delete(at: .number(4, of: 10), count: 6))
        for (style, answer) in [
            (.cursor, .pastEnd), (.link, .pastEnd),
            (.keyset, .page(FetchedPage(content: PageContent(), total: .exact(4)))),
        ]
            as [(OriginPlan.Style, PageAnswer)]
        {
            let origin = SimulatedOrigin(
                OriginPlan(style: style, count: 10, pageSize: 5, pastEnd: .refused, events: [gone]))
            let next = try #require(try await origin.page(.first).next)
            #expect(try await origin.fetch(PageRequest(.cursor(next))) == answer)
        }
    }

    // MARK: Faults that are answers

    @Test("An empty answer affects one request and has a total of zero")
    func emptyAnswer() async throws {
        let origin = SimulatedOrigin(OriginPlan(count: 10, validators: .pages, events: [.on(1, .emptyAnswer)]))
        #expect(try await origin.page(.first) == FetchedPage(content: PageContent(), total: .exact(0)))
        #expect(try await origin.page(.first).content.count == 10)
    }

    @Test("A short page returns half of its items and a continuation; only page numbers skip the other half")
    func shortPage() async throws {
        for style in [OriginPlan.Style.cursor, .keyset, .link] {
            let origin = SimulatedOrigin(
                OriginPlan(style: style, count: 20, pageSize: 6, validators: .pages, events: [.on(1, .shortPage)]))
            let page = try await origin.page(.first)
            #expect(page.content == named(0..<3, version: 1))
            #expect(page.validator == nil)
            let rest = try await ListWalker(origin).walk(from: page.next)
            #expect(rest.map(\.id) == (style == .link ? 6..<20 : 3..<20).map { "i\($0)" })
        }
    }

    @Test("A cursor expires at the request given in the plan, and other requests are not affected")
    func expiredCursors() async throws {
        for style in OriginPlan.Style.allCases {
            let origin = SimulatedOrigin(
                OriginPlan(
                    style: style, count: 20, pageSize: 5,
                    events: [.on(1, .cursorExpired(status: 410)), .on(2, .cursorExpired(status: 410))]))
            let page = try await origin.page(.first)
            guard let next = page.next else {
                #expect(try await origin.page(.offset(5)).content.count == 5)
                #expect(origin.occurrences["cursorExpired"] == nil)
                continue
            }
            let failure = await #expect(throws: FetchFailure.self) {
                try await origin.fetch(PageRequest(.cursor(next)))
            }
            #expect(failure?.failureClass == .rejected)
            #expect(failure?.httpStatus == 410)
            #expect(failure?.isRetryable == false)
            #expect(try await origin.page(.cursor(next)).content.count == 5)
            await #expect(throws: FetchFailure.self) { try await origin.fetch(PageRequest(.cursor(PageCursor("x")))) }
        }
    }

    // MARK: Totals

    @Test(
        "Totals are as correct as the plan says",
        arguments: [
            (.exact, .exact(12)), (.capped(11), .exact(11)), (.capped(30), .exact(12)), (.none, .unknown),
            (.zero, .exact(0)),
            (.tooLow(by: 5), .exact(7)), (.tooLow(by: 50), .exact(0)), (.tooHigh(by: 5), .exact(17)),
            (.estimated(within: 0), .estimate(12)),
        ] as [(OriginPlan.Totals, ListTotal)])
    func totals(totals: OriginPlan.Totals, expected: ListTotal) async throws {
        let origin = SimulatedOrigin(OriginPlan(count: 12, totals: totals))
        #expect(try await origin.page(.first).total == expected)
    }

    @Test("A lagging total is the total of an earlier request, and becomes correct once the list settles")
    func lag() async throws {
        let plan = OriginPlan(
            count: 10, totals: .lagging(requests: 2),
            events: [.before(1, .append(count: 1)), .before(3, .append(count: 1)), .before(4, .append(count: 5))])
        let origin = SimulatedOrigin(plan)
        var totals: [Int?] = []
        for request in 1...5 {
            totals.append(try await origin.page(.first).total.exactCount)
            if request == 3 { origin.cancelEvents() }
        }
        #expect(totals == [10, 10, 11, 11, 12])
        #expect(origin.items.count == 12)
        #expect(origin.occurrences["lag"] == 4)
    }

    @Test("Estimates stay within their error and are marked as estimates")
    func estimates() async throws {
        let origin = SimulatedOrigin(OriginPlan(seed: 3, count: 12, totals: .estimated(within: 4)))
        var seen: Set<Int> = []
        for _ in 0..<100 {
            guard case .estimate(let count) = try await origin.page(.first).total else {
                Issue.record("the total is not an estimate")
                return
            }
            seen.insert(count)
        }
        #expect(seen.isSubset(of: 8...16))
        #expect(seen.count > 4)
    }

    // MARK: Validators

    @Test("A validator is honored for its own request and ignored for another")
    func validators() async throws {
        let origin = SimulatedOrigin(OriginPlan(count: 20, pageSize: 5, validators: .pages))
        let tag = try #require(try await origin.page(.first).validator)
        #expect(!tag.coversTotal)
        #expect(
            try await origin.fetch(PageRequest(.first, validator: tag)) == .notModified(total: .unknown, validator: tag)
        )
        for other in [PageRequest(.first, size: 5, validator: tag), PageRequest(.offset(0), validator: tag)] {
            // The items are the same, but the request differs.
            guard case .page(let page) = try await origin.fetch(other) else {
                Issue.record("\(other) was taken for the request of \(tag)")
                return
            }
            #expect(page.content.count == 5)
            #expect(page.validator?.request != tag.request)
        }
        #expect(origin.occurrences == ["304": 1, "validator.foreign": 2])
    }

    @Test("A page that is not modified may have another total, unless the total is validated or repeated")
    func validatorsAndTotals() async throws {
        func again(_ validators: OriginPlan.Validators) async throws -> (PageAnswer, [String: Int]) {
            let origin = SimulatedOrigin(
                OriginPlan(count: 20, pageSize: 5, validators: validators, events: [.before(2, .append(count: 1))]))
            let tag = try await origin.page(.first).validator
            return (try await origin.fetch(PageRequest(.first, validator: tag)), origin.occurrences)
        }
        guard case (.notModified(.unknown, _), let trap) = try await again(.pages) else {
            Issue.record("the page is not modified")
            return
        }
        #expect(trap["304.totalChanged"] == 1)
        guard case (.notModified(.exact(21), let tag?), _) = try await again(.totalOnNotModified) else {
            Issue.record("the answer repeats the total")
            return
        }
        #expect(!tag.coversTotal)
        guard case (.page(let page), let hits) = try await again(.pagesAndTotal) else {
            Issue.record("another total has another tag")
            return
        }
        #expect(page.validator?.coversTotal == true)
        #expect(hits["validator.outdated"] == 1)
    }

    @Test("An edit in the page changes its tag")
    func editedPage() async throws {
        let plan = OriginPlan(count: 20, pageSize: 5, validators: .pages, events: [.before(2, .edit(at: .start))])
        let origin = SimulatedOrigin(plan)
        let tag = try await origin.page(.first).validator
        guard case .page(let page) = try await origin.fetch(PageRequest(.first, validator: tag)) else {
            Issue.record("the page was edited")
            return
        }
        #expect(page.validator?.entityTag != tag?.entityTag)
    }
}

private func named(_ range: Range<Int>, version: Int) -> PageContent {
    PageContent(range.map { RawItem(payload: Array(#"{"id":"i\#($0)","v":\#(version)}"#.utf8), id: "i\($0)") })
}
