import PageModel
import PagedRepositoryTesting
import Testing

@testable import PagedRepository

private let noon = Timestamp(milliseconds: 1_800_000_000_000)

@Suite("The end of a list (R24)")
struct EndOfListTests {
    private func page(_ count: Int, total: ListTotal = .unknown, next: String? = nil, hasMore: Bool? = nil)
        -> FetchedPage
    {
        FetchedPage(content: named(0..<count), total: total, next: next.map { PageCursor($0) }, hasMore: hasMore)
    }

    @Test("The origin's explicit flag or cursor overrides any total (C20, R24)")
    func explicit() {
        #expect(EndOfList.decide(page(10, total: .exact(5), hasMore: true), at: 0, full: 10, access: .offsets) == .more)
        #expect(
            EndOfList.decide(page(10, total: .exact(99), hasMore: false), at: 0, full: 10, access: .offsets)
                == .end(at: 10))
        #expect(EndOfList.decide(page(10, total: .exact(10), next: "n"), at: 0, full: 10, access: .chain) == .more)
    }

    @Test("An exact total decides if there is no flag and no cursor, whether it is reached or not (C20)")
    func totals() {
        #expect(EndOfList.decide(page(10, total: .exact(20)), at: 10, full: 10, access: .offsets) == .end(at: 20))
        #expect(EndOfList.decide(page(4, total: .exact(20)), at: 10, full: 10, access: .offsets) == .more)
        #expect(EndOfList.decide(page(0, total: .exact(20)), at: 10, full: 10, access: .offsets) == .end(at: 10))
    }

    @Test("A missing cursor marks the end of a chain, whatever the total says (C20)")
    func chains() {
        #expect(EndOfList.decide(page(10, total: .exact(99)), at: 0, full: nil, access: .chain) == .end(at: 10))
        #expect(EndOfList.decide(page(0), at: 30, full: nil, access: .chain) == .end(at: 30))
    }

    @Test("A list of one page ends with it, unless the origin states more items, exactly or by an estimate")
    func onePage() {
        #expect(EndOfList.decide(page(10), at: 0, full: nil, access: .single) == .end(at: 10))
        #expect(EndOfList.decide(page(10, total: .estimate(10)), at: 0, full: nil, access: .single) == .end(at: 10))
        #expect(EndOfList.decide(page(10, total: .estimate(99)), at: 0, full: nil, access: .single) == .more)
        #expect(EndOfList.decide(page(10, hasMore: true), at: 0, full: nil, access: .single) == .more)
        #expect(
            EndOfList.decide(page(10, total: .estimate(99), hasMore: false), at: 0, full: nil, access: .single)
                == .end(at: 10))
    }

    @Test("A short page is the end only in the absence of all other signs (C20)")
    func shortPages() {
        #expect(EndOfList.decide(page(4), at: 10, full: 10, access: .offsets) == .end(at: 14))
        #expect(EndOfList.decide(page(10), at: 10, full: 10, access: .offsets) == .more)
        #expect(EndOfList.decide(page(4), at: 10, full: nil, access: .offsets) == .more)
        #expect(EndOfList.decide(page(4, total: .estimate(99)), at: 10, full: 10, access: .offsets) == .end(at: 14))
    }
}

@Suite("Retry schedule (R27, R28)")
struct RetryScheduleTests {
    private let schedule = RetrySchedule()
    private let server = FetchFailure.status(500)

    @Test("The pause doubles with each attempt, jitter takes a share of it, and the cap limits it")
    func backOff() {
        func pause(_ attempt: Int, _ jitter: Double) -> Duration {
            RetrySchedule(attempts: 100).nextAttempt(after: server, attempt: attempt, now: noon, jitter: jitter)! - noon
        }
        #expect(pause(1, 1) == .milliseconds(500))
        #expect(pause(2, 1) == .seconds(1))
        #expect(pause(4, 0.5) == .seconds(2))
        #expect(pause(3, 0) == .zero)
        #expect(pause(60, 1) == .seconds(300))
    }

    @Test("Permanent failures and exhausted attempts are not retried")
    func givingUp() {
        #expect(schedule.nextAttempt(after: .status(404), attempt: 1, now: noon, jitter: 0) == nil)
        #expect(schedule.nextAttempt(after: server, attempt: 7, now: noon, jitter: 0) != nil)
        #expect(schedule.nextAttempt(after: server, attempt: 8, now: noon, jitter: 0) == nil)
    }

    @Test("A pause of any length causes no overflow, and no retry in the past")
    func outOfRange() throws {
        for pause in [Duration.seconds(Int64.min), .seconds(Int64.max)] {
            let odd = RetrySchedule(attempts: 100, base: pause, cap: pause, longestRetryAfter: pause)
            for attempt in [1, 99] {
                let next = try #require(odd.nextAttempt(after: server, attempt: attempt, now: noon, jitter: 0.99))
                #expect(next >= noon)
            }
        }
    }

    @Test("Retry-After lengthens the pause up to a maximum, and never shortens it")
    func retryAfter() {
        func pause(_ retryAfter: Duration) -> Duration {
            schedule.nextAttempt(after: .status(429, retryAfter: retryAfter), attempt: 1, now: noon, jitter: 0.1)!
                - noon
        }
        #expect(pause(.seconds(7)) == .seconds(7))
        #expect(pause(.seconds(-7)) == .milliseconds(50), "Retry-After never shortens the schedule's own pause")
        #expect(pause(.seconds(1 << 31)) == .seconds(3_600))
    }

    @Test(
        "The status code decides whether a failure is retryable (R27)",
        arguments: [
            (408, true), (425, true), (429, true), (500, true), (503, true), (599, true),
            (400, false), (401, false), (403, false), (404, false), (410, false), (418, false),
        ])
    func statuses(status: Int, isRetryable: Bool) {
        #expect(FetchFailure.status(status).isRetryable == isRetryable)
    }
}

@Suite("Fetch queue")
struct FetchQueueTests {
    private func queue(concurrency: Int = 2, budget: Int? = nil, retryWaitBudget: Duration = .seconds(30)) -> FetchQueue
    {
        FetchQueue(
            .init(concurrency: concurrency, transportFailures: 3, retryWaitBudget: retryWaitBudget, budget: budget))
    }

    private let unreachable = FetchFailure(.transport, "refused", isRetryable: true)

    @Test("The queue fetches in order, up to its concurrency at a time, and finishes when it is empty")
    func order() {
        var queue = queue()
        queue.add([.range(0..<5, overlap: 0), .range(5..<10, overlap: 0), .range(10..<15, overlap: 0)])
        #expect(queue.next(now: noon) == .fetch(.range(0..<5, overlap: 0)))
        #expect(queue.next(now: noon) == .fetch(.range(5..<10, overlap: 0)))
        #expect(queue.next(now: noon) == .wait)
        queue.completed(.range(5..<10, overlap: 0))
        #expect(queue.next(now: noon) == .fetch(.range(10..<15, overlap: 0)))
        queue.completed(.range(0..<5, overlap: 0))
        #expect(queue.next(now: noon) == .wait)
        queue.completed(.range(10..<15, overlap: 0))
        #expect(queue.next(now: noon) == .finish(.drained))
    }

    @Test("A failed page is retried when it is due, ahead of new pages")
    func retries() {
        var queue = queue(concurrency: 1)
        queue.add([.range(0..<5, overlap: 0), .range(5..<10, overlap: 0)])
        #expect(queue.next(now: noon) == .fetch(.range(0..<5, overlap: 0)))
        queue.failed(.range(0..<5, overlap: 0), .status(500), nextAttemptAt: noon + .seconds(2))
        #expect(queue.next(now: noon) == .fetch(.range(5..<10, overlap: 0)))
        queue.completed(.range(5..<10, overlap: 0))
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(2)))
        #expect(queue.next(now: noon + .seconds(2)) == .fetch(.range(0..<5, overlap: 0)))
        queue.failed(.range(0..<5, overlap: 0), .status(404), nextAttemptAt: nil)
        #expect(queue.next(now: noon + .seconds(2)) == .finish(.drained))
    }

    @Test("Retry-After pauses the whole origin, not one page")
    func quiet() {
        var queue = queue()
        queue.add([.range(0..<5, overlap: 0), .range(5..<10, overlap: 0), .range(10..<15, overlap: 0)])
        _ = queue.next(now: noon)
        _ = queue.next(now: noon)
        queue.failed(
            .range(0..<5, overlap: 0), .status(429, retryAfter: .seconds(9)), nextAttemptAt: noon + .seconds(9))
        #expect(queue.next(now: noon) == .wait)
        queue.completed(.range(5..<10, overlap: 0))
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(9)))
        #expect(queue.next(now: noon + .seconds(9)) == .fetch(.range(0..<5, overlap: 0)))
    }

    @Test("The retry wait budget limits the sum of all waits, and later retries are left to a later run")
    func patience() {
        var queue = queue(concurrency: 1, retryWaitBudget: .seconds(10))
        queue.add([.firstPage])
        _ = queue.next(now: noon)
        queue.failed(.firstPage, .status(503), nextAttemptAt: noon + .seconds(6))
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(6)))
        _ = queue.next(now: noon + .seconds(6))
        queue.failed(.firstPage, .status(503), nextAttemptAt: noon + .seconds(12))
        #expect(queue.next(now: noon + .seconds(6)) == .finish(.retryLater(noon + .seconds(12))))
    }

    @Test("An origin that never answered is offline once the limit of transport failures in a row is reached (R32)")
    func away() {
        var queue = queue(concurrency: 1)
        queue.add([.firstPage])
        for attempt in 1...3 {
            let now = noon + .seconds(attempt)
            guard case .fetch = queue.next(now: now) else { Issue.record("there is no attempt \(attempt)"); return }
            queue.failed(.firstPage, unreachable, nextAttemptAt: now)
        }
        #expect(queue.next(now: noon + .seconds(9)) == .finish(.offline))
    }

    @Test("An origin that answered before gets one probe at a time while the retry wait budget lasts (R32)")
    func probing() {
        var queue = queue(concurrency: 2, retryWaitBudget: .seconds(5))
        queue.add((0..<6).map { .range($0 * 5..<$0 * 5 + 5, overlap: 0) })
        _ = queue.next(now: noon)
        _ = queue.next(now: noon)
        queue.completed(.range(0..<5, overlap: 0))
        queue.failed(.range(5..<10, overlap: 0), unreachable, nextAttemptAt: noon + .seconds(60))
        for start in [10, 15] {
            #expect(queue.next(now: noon) == .fetch(.range(start..<start + 5, overlap: 0)))
            queue.failed(.range(start..<start + 5, overlap: 0), unreachable, nextAttemptAt: noon + .seconds(60))
        }
        #expect(queue.next(now: noon) == .fetch(.range(20..<25, overlap: 0)))
        #expect(queue.next(now: noon) == .wait, "only one probe at a time")
        queue.completed(.range(20..<25, overlap: 0))
        #expect(queue.next(now: noon) == .fetch(.range(25..<30, overlap: 0)))
    }

    @Test(
        "At an unreachable origin the queue starts no new page, and retries due ones while the wait budget lasts (R32)"
    )
    func gone() {
        func page(_ number: Int) -> FetchTarget { .range(number * 5..<number * 5 + 5, overlap: 0) }
        var queue = queue(concurrency: 1, retryWaitBudget: .seconds(5))
        queue.add((0..<100).map(page))
        _ = queue.next(now: noon)
        queue.completed(page(0))
        for number in 1...6 {
            #expect(queue.next(now: noon) == .fetch(page(number)))
            queue.failed(page(number), unreachable, nextAttemptAt: noon + .seconds(1))
        }
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(1)))
        #expect(queue.next(now: noon + .seconds(1)) == .fetch(page(1)))

        var healed = queue
        healed.completed(page(1))
        #expect(healed.next(now: noon + .seconds(1)) == .fetch(page(2)))
        healed.completed(page(2))
        for number in 3...7 {
            #expect(healed.next(now: noon + .seconds(1)) == .fetch(page(number)))
            healed.completed(page(number))
        }

        // Each request takes three seconds to fail.
        queue.failed(page(1), unreachable, nextAttemptAt: noon + .seconds(60))
        #expect(queue.next(now: noon + .seconds(4)) == .fetch(page(2)))
        queue.failed(page(2), unreachable, nextAttemptAt: noon + .seconds(60))
        #expect(queue.next(now: noon + .seconds(7)) == .finish(.offline))
    }

    @Test("The page budget counts answers, not attempts")
    func budget() {
        var queue = queue(concurrency: 1, budget: 1)
        queue.add([.firstPage, .range(5..<10, overlap: 0)])
        _ = queue.next(now: noon)
        queue.failed(.firstPage, .status(500), nextAttemptAt: noon)
        #expect(queue.next(now: noon) == .fetch(.firstPage))
        queue.completed(.firstPage)
        #expect(queue.next(now: noon) == .finish(.limited))
    }

    @Test("A stopped queue waits for the requests in flight and starts no others")
    func stopping() {
        var queue = queue()
        queue.add([.firstPage, .range(5..<10, overlap: 0), .range(10..<15, overlap: 0)])
        _ = queue.next(now: noon)
        queue.stop()
        #expect(queue.next(now: noon) == .wait)
        queue.completed(.firstPage)
        #expect(queue.next(now: noon) == .finish(.stopped))
    }
}

@Suite("Load plan")
struct LoadPlanTests {
    private func list(_ ranges: [Range<Int>], total: ListTotal = .unknown, end: Int? = nil, cursor: String? = nil)
        -> ListOutline
    {
        let record = QueryRecord(
            id: QueryID(rawValue: 1), key: QueryKey("k"), version: ListVersion(generation: 1, revision: 0),
            total: total, end: end,
            validatedAt: noon, createdAt: noon, allowsDuplicates: false, paging: "", source: "")
        let pages = ranges.map { range in
            PageSummary(
                offset: range.lowerBound, count: range.count, generation: 1, revision: 0, evidence: .inferred,
                evidenceAt: noon,
                fetchedAt: noon, validatedAt: noon, fingerprint: 0, cursorIn: nil,
                cursorOut: cursor.map { PageCursor($0) },
                validator: nil)
        }
        return ListOutline(record: record, pages: pages, ledger: [], readAt: noon)
    }

    @Test("With offsets, the plan targets the gaps, in pages")
    func offsets() {
        let list = list([0..<10, 20..<25], total: .exact(32))
        #expect(
            LoadPlan.targets(for: list, access: .offsets, size: 10) == [
                .range(10..<20, overlap: 0), .range(25..<32, overlap: 0),
            ])
    }

    @Test("The plan repeats a known item where a cycle of pages begins and where a page is not full (R21)")
    func overlap() {
        let list = list([0..<10, 20..<25], total: .exact(40))
        let targets = LoadPlan.targets(for: list, access: .offsets, size: 10, overlap: 1)
        #expect(
            targets == [
                .range(10..<19, overlap: 1), .range(19..<20, overlap: 1), .range(25..<35, overlap: 0),
                .range(35..<40, overlap: 1),
            ])
        #expect(
            LoadPlan.targets(for: self.list([]), access: .offsets, size: 10, overlap: 1) == [.range(0..<10, overlap: 0)]
        )
    }

    @Test("With a grid, the plan targets whole pages of the origin, each once (R21)")
    func grid() {
        let list = list([0..<10, 12..<18], total: .exact(35))
        #expect(
            LoadPlan.targets(for: list, access: .grid(size: 10), size: 10) == [
                .range(10..<20, overlap: 0), .range(20..<30, overlap: 0), .range(30..<40, overlap: 0),
            ])
    }

    @Test("Without a total, the plan targets one page after the held items, and its answer decides about more")
    func openEnd() {
        #expect(LoadPlan.targets(for: list([0..<10]), access: .offsets, size: 10) == [.range(10..<20, overlap: 0)])
        #expect(LoadPlan.targets(for: list([0..<10], end: 10), access: .offsets, size: 10) == [])
    }

    @Test("With a chain, the plan follows the cursor of the head's last page until the end is known")
    func chain() {
        #expect(
            LoadPlan.targets(for: list([0..<10], cursor: "c"), access: .chain, size: 10) == [
                .cursor(PageCursor("c"), offset: 10)
            ])
        #expect(LoadPlan.targets(for: list([0..<10], end: 10, cursor: "c"), access: .chain, size: 10) == [])
        #expect(LoadPlan.targets(for: list([0..<10]), access: .single, size: 10) == [])
    }

    @Test("A false total drives neither an allocation nor a loop (R44)")
    func hugeTotals() {
        for access in [PagingAccess.offsets, .grid(size: 10)] {
            #expect(
                LoadPlan.targets(for: list([0..<10], total: .exact(1 << 53)), access: access, size: 10).count
                    == LoadPlan.longest)
        }
    }
}
