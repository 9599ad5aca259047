import PageModel
import Testing

@testable import PagedRepository

@Suite("Answers stored in one transaction")
struct SpanBatchTests {
    private let now = Timestamp(milliseconds: 0)
    private let version = ListVersion(generation: 1, revision: 3)

    /// The knowledge about 0..<60 of a list of 100 items, of which the first ten are held.
    private func outlineCache(total: ListTotal = .exact(100), end: Int? = nil) -> OutlineCache {
        let record = QueryRecord(
            id: QueryID(rawValue: 1), key: QueryKey("list"), version: version, total: total, end: end, validatedAt: now,
            createdAt: now,
            allowsDuplicates: false, paging: "", source: "")
        var outlineCache = OutlineCache(
            range: 0..<60, list: ListOutline(record: record, pages: [], ledger: [], readAt: now))
        let head = PageWrite(offset: 0, content: named(0..<10), evidence: .inferred)
        outlineCache.put(head, PageContent.fingerprint(of: head.content.identities), at: now)
        return outlineCache
    }

    private func recent() -> RecentPages {
        var recent = RecentPages()
        recent.keep(named(0..<10).identities)
        return recent
    }

    private func batch(_ outlineCache: OutlineCache) -> SpanBatch {
        SpanBatch(outlineCache, SpanBatch.Rules(access: .offsets, fullPage: 10), at: now)
    }

    private func page(_ range: Range<Int>, total: ListTotal = .exact(100)) -> FetchedPage {
        FetchedPage(content: named(range), total: total)
    }

    @Test("Each page joins the held items, or the previous page, at their common item (R21)")
    func joined() {
        var (batch, recent) = (batch(outlineCache()), recent())
        #expect(batch.add(page(9..<19), to: 10..<19, overlap: 1, under: version, lease: nil, &recent))
        #expect(batch.add(page(18..<28), to: 19..<28, overlap: 1, under: version, lease: nil, &recent))
        let plan = batch.commit
        #expect(plan.version == version)
        #expect(
            plan.expectedLength == ListExtent(total: .exact(100), end: nil),
            "the plan depends on the length that it was compared with (R4)")
        #expect(
            plan.edits == [
                .insertPage(PageWrite(offset: 10, content: named(10..<19), evidence: .verified)),
                .markContiguous(9..<19),
                .insertPage(PageWrite(offset: 19, content: named(19..<28), evidence: .verified)),
                .markContiguous(18..<28),
            ])
        #expect(plan.ledger == [.succeeded(offset: 10), .succeeded(offset: 19)])
        let head = PageContent.fingerprint(of: named(0..<10).identities)
        #expect(
            plan.preconditions == [PagePrecondition(offset: 0, fingerprint: head)],
            "the plan depends on the page that it was compared with (R21)")
        #expect(batch.parts.map(\.missing) == [[10..<19], [19..<28]])
    }

    @Test("A page that arrives before its predecessor stores the common item and moves its ledger entry to it")
    func early() {
        var (batch, recent) = (batch(outlineCache()), recent())
        #expect(batch.add(page(27..<37), to: 28..<37, overlap: 1, under: version, lease: nil, &recent))
        #expect(batch.commit.ledger == [.deleted(offset: 28), .succeeded(offset: 27)])
        #expect(
            batch.add(page(18..<28), to: 19..<28, overlap: 1, under: version, lease: nil, &recent),
            "the common item is the same")
        #expect(batch.parts.map(\.missing) == [[27..<37], [18..<27]])
    }

    @Test(
        "An answer with further consequences is not added to the batch",
        arguments: [
            "another item where one is held (R21)", "another total (R20)", "more items than are counted (R20)",
            "the end (R24)", "a short page",
            "beyond what is known", "under another version (R4)", "nothing new", "nothing but what was known",
        ])
    func unexpected(what: String) {
        var (batch, recent) = (batch(outlineCache()), recent())
        let isTaken =
            switch what {
            case "another item where one is held (R21)":
                batch.add(
                    FetchedPage(content: named(["x"] + (10..<19).map { "i\($0)" }), total: .exact(100)), to: 10..<19,
                    overlap: 1, under: version, lease: nil, &recent)
            case "another total (R20)":
                batch.add(page(9..<19, total: .exact(99)), to: 10..<19, overlap: 1, under: version, lease: nil, &recent)
            case "more items than are counted (R20)":
                { () -> Bool in
                    var short = self.batch(outlineCache(total: .estimate(15)))
                    return short.add(
                        page(9..<19, total: .unknown), to: 10..<19, overlap: 1, under: version, lease: nil, &recent)
                }()
            case "the end (R24)":
                { () -> Bool in
                    var last = self.batch(outlineCache(total: .exact(19)))
                    return last.add(
                        page(9..<19, total: .exact(19)), to: 10..<19, overlap: 1, under: version, lease: nil, &recent)
                }()
            case "a short page":
                { () -> Bool in
                    var open = self.batch(outlineCache(total: .unknown))
                    return open.add(
                        page(9..<15, total: .unknown), to: 10..<19, overlap: 1, under: version, lease: nil, &recent)
                }()
            case "beyond what is known":
                batch.add(page(55..<65), to: 56..<65, overlap: 1, under: version, lease: nil, &recent)
            case "under another version (R4)":
                batch.add(
                    page(9..<19), to: 10..<19, overlap: 1, under: ListVersion(generation: 1, revision: 2), lease: nil,
                    &recent)
            case "nothing new": batch.add(page(0..<10), to: 1..<10, overlap: 1, under: version, lease: nil, &recent)
            default: batch.add(page(9..<10), to: 10..<19, overlap: 1, under: version, lease: nil, &recent)
            }
        #expect(!isTaken)
        #expect(batch.parts.isEmpty && batch.commit.edits.isEmpty && batch.commit.ledger.isEmpty)
    }

    @Test("A held page that is not recent must be read, so the batch does not compare it")
    func forgotten() {
        var (batch, recent) = (batch(outlineCache()), RecentPages())
        #expect(!batch.add(page(9..<19), to: 10..<19, overlap: 1, under: version, lease: nil, &recent))
        #expect(
            batch.add(page(10..<20), to: 10..<20, overlap: 0, under: version, lease: nil, &recent),
            "without an overlap there is no item to compare")
    }

    @Test("The number of pages in one transaction is limited")
    func full() {
        var outlineCache = outlineCache(total: .exact(1_000))
        outlineCache.range = 0..<1_000
        var (batch, recent) = (batch(outlineCache), recent())
        let taken = (1...30).prefix { number in
            let range = number * 10..<number * 10 + 10
            return batch.add(
                page(range, total: .exact(1_000)), to: range, overlap: 0, under: version, lease: nil, &recent)
        }
        #expect(taken.count == 16)
        #expect(batch.parts.count == 16)
    }

    @Test("The bytes in one transaction are limited, but a single page of any size is accepted")
    func large() {
        var (batch, recent) = (batch(outlineCache()), recent())
        func page(_ range: Range<Int>) -> FetchedPage {
            let payload = [UInt8](repeating: 0x78, count: 300_000)
            return FetchedPage(
                content: PageContent(range.map { RawItem(payload: payload, id: "i\($0)") }), total: .exact(100))
        }
        #expect(batch.add(page(10..<20), to: 10..<20, overlap: 0, under: version, lease: nil, &recent))
        #expect(!batch.add(page(20..<30), to: 20..<30, overlap: 0, under: version, lease: nil, &recent))
        var other = self.batch(outlineCache())
        let payload = [UInt8](repeating: 0x78, count: 5_000_000)
        let huge = FetchedPage(
            content: PageContent((10..<20).map { RawItem(payload: $0 == 10 ? payload : [], id: "i\($0)") }),
            total: .exact(100))
        #expect(other.add(huge, to: 10..<20, overlap: 0, under: version, lease: nil, &recent))
    }

    @Test(
        "The outline range covers the nearby pages in flight, otherwise the next pages, otherwise no positions"
    )
    func outlineRange() {
        let near: Set<FetchTarget> = [.range(28..<37, overlap: 1), .range(37..<46, overlap: 1)]
        let far: Set<FetchTarget> = [.range(9_000..<9_009, overlap: 1)]
        let next: [FetchTarget] = [.range(46..<55, overlap: 1)]
        #expect(OutlineCache.around(next, with: near, pageSize: 10) == 27..<55)
        #expect(OutlineCache.around(next, with: far, pageSize: 10) == 45..<55)
        #expect(OutlineCache.around(next + Array(far), with: near, pageSize: 10) == nil)
        #expect(OutlineCache.around([.firstPage], with: near, pageSize: 10) == 27..<46)
        #expect(OutlineCache.around([.firstPage], with: [], pageSize: 10) == nil)
        #expect(
            OutlineCache.around([.range(46..<50, overlap: 1)], with: [], pageSize: 10) == 45..<55,
            "the request covers a whole page (R21)")
    }
}

@Suite("Reservation of the next pages")
struct NextSpansTests {
    private let now = Timestamp(milliseconds: 0)
    private let spans: [FetchTarget] = (0..<6).map { .range($0 * 10..<$0 * 10 + 10, overlap: 0) }

    private func queue(concurrency: Int = 2, budget: Int? = nil) -> FetchQueue {
        FetchQueue(.init(concurrency: concurrency, transportFailures: 3, retryWaitBudget: .seconds(30), budget: budget))
    }

    @Test(
        "The queue reserves the pages it would fetch next and as many after them, and counts them all as in flight"
    )
    func next() {
        var queue = queue()
        queue.add(spans)
        #expect(queue.nextSpans(now: now) == Array(spans.prefix(4)))
        #expect(queue.inFlight == Set(spans.prefix(4)))
        #expect(queue.next(now: now) == .wait)
        queue.completed(spans[0])
        #expect(queue.nextSpans(now: now) == [spans[4]])
    }

    @Test(
        "Reserved pages start only up to the concurrency, and an answer makes room before it is stored"
    )
    func startable() {
        var queue = queue()
        queue.add(spans)
        _ = queue.nextSpans(now: now)
        #expect(queue.startable(of: Array(spans[0..<4]), now: now) == 2)
        #expect(queue.startable(of: Array(spans[2..<4]), now: now) == 0, "two are requested, two wait")
        #expect(queue.startable(of: Array(spans[2..<4]), besides: 1, now: now) == 1, "one of the two has been answered")
        queue.completed(spans[0])
        #expect(queue.startable(of: Array(spans[2..<4]), now: now) == 1)
        queue.completed(spans[1])
        #expect(queue.startable(of: [spans[3]], now: now) == 1, "no more than there are")
    }

    @Test("Reserved pages are returned after a Retry-After (R28), without the origin (R32) and after a stop")
    func givenBack() {
        func queue(_ happens: (inout FetchQueue) -> Void) -> FetchQueue {
            var queue = self.queue()
            queue.add(spans)
            _ = queue.nextSpans(now: now)
            happens(&queue)
            return queue
        }
        let pause = FetchFailure(.server, "m", isRetryable: true, retryAfter: .seconds(9))
        let paused = queue { $0.failed(spans[0], pause, nextAttemptAt: now + .seconds(9)) }
        #expect(paused.startable(of: Array(spans[2..<4]), now: now) == nil)
        #expect(paused.startable(of: Array(spans[2..<4]), now: now + .seconds(9)) == 1)
        let gone = FetchFailure(.transport, "m", isRetryable: true)
        let away = queue { queue in
            for span in spans.prefix(3) { queue.failed(span, gone, nextAttemptAt: now + .seconds(9)) }
        }
        #expect(away.startable(of: [spans[3]], now: now) == nil)
        #expect(queue { $0.stop() }.startable(of: Array(spans[2..<4]), now: now) == nil)
    }

    @Test("Reserved pages are returned when an earlier page is requested again, and follow it (R20)")
    func doubt() {
        var queue = queue()
        queue.add(spans)
        _ = queue.nextSpans(now: now)
        queue.completed(spans[0])
        queue.addFirst(spans[0])
        #expect(queue.startable(of: Array(spans[2..<4]), now: now) == nil)
        queue.requeue(Array(spans[2..<4]))
        #expect(queue.next(now: now) == .fetch(spans[0]))
        queue.completed(spans[0])
        #expect(queue.nextSpans(now: now) == Array(spans[2..<5]))
    }

    @Test("Reserved pages that are requeued leave the queue as it was")
    func putBack() {
        var (queue, untouched) = (queue(), queue())
        queue.add(spans)
        untouched.add(spans)
        queue.requeue(queue.nextSpans(now: now))
        #expect(queue == untouched)
    }

    @Test(
        "The queue reserves no pages before another kind of target, a due retry, a pause or a stop, and none beyond a budget"
    )
    func notPlain() {
        var other = queue()
        other.add([.firstPage] + spans)
        #expect(other.nextSpans(now: now) == [])
        var failing = queue()
        failing.add(spans)
        #expect(failing.next(now: now) == .fetch(spans[0]))
        failing.failed(spans[0], FetchFailure(.server, "m", isRetryable: true), nextAttemptAt: now)
        #expect(failing.nextSpans(now: now) == [], "the retry goes first")
        var limited = queue(budget: 1)
        limited.add(spans)
        #expect(limited.nextSpans(now: now) == [spans[0]])
        var quiet = queue()
        quiet.add(spans)
        #expect(quiet.next(now: now) == .fetch(spans[0]))
        quiet.failed(
            spans[0], FetchFailure(.server, "m", isRetryable: true, retryAfter: .seconds(9)),
            nextAttemptAt: now + .seconds(9))
        #expect(quiet.nextSpans(now: now) == [], "the Retry-After still holds (R28)")
        var away = queue()
        away.add(spans)
        #expect(away.next(now: now) == .fetch(spans[0]))
        away.failed(spans[0], FetchFailure(.transport, "m", isRetryable: true), nextAttemptAt: now + .seconds(9))
        #expect(away.nextSpans(now: now) == [], "the origin may be away (R32)")
        var stopped = queue()
        stopped.add(spans)
        stopped.stop()
        #expect(stopped.nextSpans(now: now) == [])
    }
}
