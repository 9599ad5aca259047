import PageModel
import PagedRepositoryTesting
import Testing

@testable import PagedRepository

private let noon = Timestamp(milliseconds: 1_800_000_000_000)

@Suite("The end of a list (R24)")
struct EndOfListTests {
    private func page(_ count: Int, total: Total = .unknown, next: String? = nil, hasMore: Bool? = nil) -> FetchedPage {
        FetchedPage(content: named(0..<count), total: total, next: next.map { PageCursor($0) }, hasMore: hasMore)
    }

    @Test("the origin's own word wins over any total")
    func explicit() {
        #expect(EndOfList.decide(page(10, total: .exact(5), hasMore: true), at: 0, full: 10, access: .offsets) == .more)
        #expect(EndOfList.decide(page(10, total: .exact(99), hasMore: false), at: 0, full: 10, access: .offsets) == .end(at: 10))
        #expect(EndOfList.decide(page(10, total: .exact(10), next: "n"), at: 0, full: 10, access: .chain) == .more)
    }

    @Test("then an exact total, reached or not")
    func totals() {
        #expect(EndOfList.decide(page(10, total: .exact(20)), at: 10, full: 10, access: .offsets) == .end(at: 20))
        #expect(EndOfList.decide(page(4, total: .exact(20)), at: 10, full: 10, access: .offsets) == .more)
        #expect(EndOfList.decide(page(0, total: .exact(20)), at: 10, full: 10, access: .offsets) == .end(at: 10))
    }

    @Test("then, for what hands over cursors, the cursor that is missing")
    func chains() {
        #expect(EndOfList.decide(page(10, total: .exact(99)), at: 0, full: nil, access: .chain) == .end(at: 10))
        #expect(EndOfList.decide(page(0), at: 30, full: nil, access: .chain) == .end(at: 30))
    }

    @Test("a short page is the end only where nothing else speaks")
    func shortPages() {
        #expect(EndOfList.decide(page(4), at: 10, full: 10, access: .offsets) == .end(at: 14))
        #expect(EndOfList.decide(page(10), at: 10, full: 10, access: .offsets) == .more)
        #expect(EndOfList.decide(page(4), at: 10, full: nil, access: .offsets) == .more)
        #expect(EndOfList.decide(page(4, total: .estimate(99)), at: 10, full: 10, access: .offsets) == .end(at: 14))
    }
}

@Suite("The retry schedule (R27, R28)")
struct RetryScheduleTests {
    private let schedule = RetrySchedule()
    private let server = FetchFailure.status(500)

    @Test("the pause doubles, jitter takes a share of it, the cap holds")
    func backOff() {
        func pause(_ attempt: Int, _ chance: Double) -> Duration {
            RetrySchedule(attempts: 100).nextAttempt(after: server, attempt: attempt, now: noon, chance: chance)! - noon
        }
        #expect(pause(1, 1) == .milliseconds(500))
        #expect(pause(2, 1) == .seconds(1))
        #expect(pause(4, 0.5) == .seconds(2))
        #expect(pause(3, 0) == .zero)
        #expect(pause(60, 1) == .seconds(300))
    }

    @Test("permanent failures and used-up attempts are not tried again")
    func givingUp() {
        #expect(schedule.nextAttempt(after: .status(404), attempt: 1, now: noon, chance: 0) == nil)
        #expect(schedule.nextAttempt(after: server, attempt: 7, now: noon, chance: 0) != nil)
        #expect(schedule.nextAttempt(after: server, attempt: 8, now: noon, chance: 0) == nil)
    }

    @Test("Retry-After wins, within its maximum")
    func retryAfter() {
        func pause(_ retryAfter: Duration) -> Duration {
            schedule.nextAttempt(after: .status(429, retryAfter: retryAfter), attempt: 1, now: noon, chance: 0.1)! - noon
        }
        #expect(pause(.seconds(7)) == .seconds(7))
        #expect(pause(.seconds(-7)) == .zero)
        #expect(pause(.seconds(1 << 31)) == .seconds(3_600))
    }

    @Test("R27: what is retryable", arguments: [
        (408, true), (425, true), (429, true), (500, true), (503, true), (599, true),
        (400, false), (401, false), (403, false), (404, false), (410, false), (418, false),
    ])
    func statuses(status: Int, isRetryable: Bool) {
        #expect(FetchFailure.status(status).isRetryable == isRetryable)
    }
}

@Suite("The fetch queue")
struct FetchQueueTests {
    private func queue(concurrency: Int = 2, budget: Int? = nil, patience: Duration = .seconds(30)) -> FetchQueue {
        FetchQueue(.init(concurrency: concurrency, transportFailures: 3, patience: patience, budget: budget))
    }

    private let unreachable = FetchFailure(.transport, "refused", isRetryable: true)

    @Test("fetches in order, as many at a time as allowed, and ends when nothing is left")
    func order() {
        var queue = queue()
        queue.add([.span(0..<5), .span(5..<10), .span(10..<15)])
        #expect(queue.next(now: noon) == .fetch(.span(0..<5)))
        #expect(queue.next(now: noon) == .fetch(.span(5..<10)))
        #expect(queue.next(now: noon) == .wait)
        queue.landed(.span(5..<10))
        #expect(queue.next(now: noon) == .fetch(.span(10..<15)))
        queue.landed(.span(0..<5))
        #expect(queue.next(now: noon) == .wait)
        queue.landed(.span(10..<15))
        #expect(queue.next(now: noon) == .finish(.drained))
    }

    @Test("a failed page is tried again when it is due, before new ones")
    func retries() {
        var queue = queue(concurrency: 1)
        queue.add([.span(0..<5), .span(5..<10)])
        #expect(queue.next(now: noon) == .fetch(.span(0..<5)))
        queue.failed(.span(0..<5), .status(500), nextAttemptAt: noon + .seconds(2))
        #expect(queue.next(now: noon) == .fetch(.span(5..<10)))
        queue.landed(.span(5..<10))
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(2)))
        #expect(queue.next(now: noon + .seconds(2)) == .fetch(.span(0..<5)))
        queue.failed(.span(0..<5), .status(404), nextAttemptAt: nil)
        #expect(queue.next(now: noon + .seconds(2)) == .finish(.drained))
    }

    @Test("Retry-After silences the origin as a whole, not one page")
    func quiet() {
        var queue = queue()
        queue.add([.span(0..<5), .span(5..<10), .span(10..<15)])
        _ = queue.next(now: noon)
        _ = queue.next(now: noon)
        queue.failed(.span(0..<5), .status(429, retryAfter: .seconds(9)), nextAttemptAt: noon + .seconds(9))
        #expect(queue.next(now: noon) == .wait)
        queue.landed(.span(5..<10))
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(9)))
        #expect(queue.next(now: noon + .seconds(9)) == .fetch(.span(0..<5)))
    }

    @Test("patience is counted over all waits; what is due later is left to a later run")
    func patience() {
        var queue = queue(concurrency: 1, patience: .seconds(10))
        queue.add([.head])
        _ = queue.next(now: noon)
        queue.failed(.head, .status(503), nextAttemptAt: noon + .seconds(6))
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(6)))
        _ = queue.next(now: noon + .seconds(6))
        queue.failed(.head, .status(503), nextAttemptAt: noon + .seconds(12))
        #expect(queue.next(now: noon + .seconds(6)) == .finish(.retryLater(noon + .seconds(12))))
    }

    @Test("R32: an origin that was never heard is away after a few failures")
    func away() {
        var queue = queue(concurrency: 1)
        queue.add([.head])
        for attempt in 1...3 {
            let now = noon + .seconds(attempt)
            guard case .fetch = queue.next(now: now) else { Issue.record("no attempt \(attempt)"); return }
            queue.failed(.head, unreachable, nextAttemptAt: now)
        }
        #expect(queue.next(now: noon + .seconds(9)) == .finish(.offline))
    }

    @Test("R32: an origin that was heard before is probed, one request at a time, while patience lasts")
    func probing() {
        var queue = queue(concurrency: 2, patience: .seconds(5))
        queue.add((0..<6).map { .span($0 * 5..<$0 * 5 + 5) })
        _ = queue.next(now: noon)
        _ = queue.next(now: noon)
        queue.landed(.span(0..<5))
        queue.failed(.span(5..<10), unreachable, nextAttemptAt: noon + .seconds(60))
        for start in [10, 15] {
            #expect(queue.next(now: noon) == .fetch(.span(start..<start + 5)))
            queue.failed(.span(start..<start + 5), unreachable, nextAttemptAt: noon + .seconds(60))
        }
        #expect(queue.next(now: noon) == .fetch(.span(20..<25)))
        #expect(queue.next(now: noon) == .wait, "one probe at a time")
        queue.landed(.span(20..<25))
        #expect(queue.next(now: noon) == .fetch(.span(25..<30)))
    }

    @Test("a budget counts answers, not attempts")
    func budget() {
        var queue = queue(concurrency: 1, budget: 1)
        queue.add([.head, .span(5..<10)])
        _ = queue.next(now: noon)
        queue.failed(.head, .status(500), nextAttemptAt: noon)
        #expect(queue.next(now: noon) == .fetch(.head))
        queue.landed(.head)
        #expect(queue.next(now: noon) == .finish(.limited))
    }

    @Test("stopping waits for what is in flight, and starts nothing")
    func stopping() {
        var queue = queue()
        queue.add([.head, .span(5..<10), .span(10..<15)])
        _ = queue.next(now: noon)
        queue.stop()
        #expect(queue.next(now: noon) == .wait)
        queue.landed(.head)
        #expect(queue.next(now: noon) == .finish(.stopped))
    }
}

@Suite("Head reconciliation")
struct HeadReconcilerTests {
    /// Decides about an answer with these names, against a cached list with those.
    private func decide(
        _ answer: [String], total: Int?, cached: [String], cachedTotal: Int?, headEnd: Int? = nil, end: Int? = nil,
        readable: Int? = nil, confirmed: Bool = false
    ) -> HeadReconciler.Verdict {
        let content = named(answer)
        let held = named(cached).identities
        return HeadReconciler.decide(
            FetchedPage(content: content, total: total.map { .exact($0) } ?? .unknown), end: end,
            cached: HeadReconciler.Cached(
                total: cachedTotal.map { .exact($0) } ?? .unknown,
                headEnd: headEnd ?? cached.count,
                isEmpty: cached.isEmpty,
                readableEnd: readable ?? cached.count,
                headIdentities: Array(held.prefix(answer.count)),
                positions: Dictionary(uniqueKeysWithValues: held.enumerated().map { ($1.key, $0) })),
            isConfirmed: confirmed)
    }

    private let list = (0..<20).map { "i\($0)" }

    @Test("R16: the same items at the same places and the same total: nothing new")
    func unchanged() {
        #expect(decide(Array(list.prefix(5)), total: 20, cached: list, cachedTotal: 20) == .unchanged)
        #expect(decide(Array(list.prefix(5)), total: nil, cached: list, cachedTotal: nil) == .unchanged)
    }

    @Test("nothing held: a first load")
    func firstLoad() {
        #expect(decide(["a"], total: 1, cached: [], cachedTotal: nil) == .firstLoad)
    }

    @Test("R17: inserts at the head", arguments: 1...4)
    func inserts(count: Int) {
        let answer = (0..<count).map { "new\($0)" } + list.prefix(5 - count)
        #expect(decide(answer, total: 20 + count, cached: list, cachedTotal: 20) == .spliced(replaced: 5 - count, moved: []))
    }

    @Test("R17: deletes within the head")
    func deletes() {
        let answer = ["i0", "i2", "i4", "i5", "i6"]
        #expect(decide(answer, total: 18, cached: list, cachedTotal: 20) == .spliced(replaced: 7, moved: []))
    }

    @Test("R17: inserts and deletes together, also when they cancel")
    func mixed() {
        #expect(decide(["n", "i1", "i2", "i3", "i4"], total: 20, cached: list, cachedTotal: 20) == .spliced(replaced: 5, moved: []))
        #expect(decide(["n", "i0", "i2", "m", "i3"], total: 21, cached: list, cachedTotal: 20) == .spliced(replaced: 4, moved: []))
    }

    @Test("R17: an item from deeper down that is now at the head has moved")
    func moves() {
        #expect(decide(["i15", "i0", "i1", "i2", "i3"], total: 20, cached: list, cachedTotal: 20) == .spliced(replaced: 4, moved: [15]))
        #expect(decide(["i2", "i0", "i1", "i3", "i4"], total: 20, cached: list, cachedTotal: 20) == .spliced(replaced: 5, moved: []))
    }

    @Test("an item from deeper down at the end of the head may have moved, or what lay between is gone: not guessed at")
    func ambiguousMoves() {
        #expect(decide(["i0", "i1", "i2", "i3", "i15"], total: 20, cached: list, cachedTotal: 20) == .unexplained)
        // Three deleted and three appended look like three moved.
        #expect(decide(["i0", "i1", "i5", "i6", "i7"], total: 20, cached: list, cachedTotal: 20) == .unexplained)
    }

    @Test("without totals: an answer that ends earlier than what is held is no confirmation (R20)")
    func earlyEnd() {
        #expect(decide(["i0", "i1"], total: nil, cached: list, cachedTotal: nil, end: 2) == .doubtful)
        #expect(decide(["i0", "i1"], total: nil, cached: list, cachedTotal: nil, end: 2, confirmed: true) == .unexplained)
        #expect(decide(Array(list.prefix(15)), total: nil, cached: list, cachedTotal: nil, end: 15) == .unexplained)
    }

    @Test("R20: an empty answer is doubted also when only an older generation is left to lose")
    func doubtAboutOldGenerations() {
        #expect(decide([], total: nil, cached: [], cachedTotal: nil, end: 0, readable: 500) == .doubtful)
        #expect(decide([], total: nil, cached: [], cachedTotal: nil, end: 0) == .firstLoad)
    }

    @Test("R17: an edit is a change in place")
    func edits() {
        var answer = FetchedPage(content: named(list.prefix(5)), total: .exact(20))
        var edited = answer.content.items
        edited[2].payload += [0x20]
        answer.content = PageContent(edited)
        let held = named(list).identities
        let verdict = HeadReconciler.decide(
            answer, end: nil,
            cached: HeadReconciler.Cached(
                total: .exact(20), headEnd: 20, isEmpty: false, readableEnd: 20, headIdentities: Array(held.prefix(5)),
                positions: Dictionary(uniqueKeysWithValues: held.enumerated().map { ($1.key, $0) })),
            isConfirmed: false)
        #expect(verdict == .spliced(replaced: 5, moved: []))
    }

    @Test("a total that the head does not explain is not guessed at", arguments: [18, 19, 21, 30])
    func unexplained(total: Int) {
        #expect(decide(Array(list.prefix(5)), total: total, cached: list, cachedTotal: 20) == .unexplained)
        #expect(decide(["n"] + list.prefix(4), total: total == 21 ? 22 : total, cached: list, cachedTotal: 20) == .unexplained)
    }

    @Test("without totals a head that changed explains nothing")
    func noTotals() {
        #expect(decide(["n"] + list.prefix(4), total: nil, cached: list, cachedTotal: nil) == .unexplained)
    }

    @Test("R19: no item is known")
    func noOverlap() {
        #expect(decide(["a", "b"], total: 20, cached: list, cachedTotal: 20) == .noOverlap)
    }

    @Test("R20: a list that shrinks to nothing, or by more than half, is doubted once")
    func doubt() {
        #expect(decide([], total: 0, cached: list, cachedTotal: 20) == .doubtful)
        #expect(decide(["i0"], total: 9, cached: list, cachedTotal: 20) == .doubtful)
        #expect(decide([], total: nil, cached: list, cachedTotal: nil) == .doubtful)
        #expect(decide([], total: 0, cached: list, cachedTotal: 20, confirmed: true) == .noOverlap)
        #expect(decide(["i0"], total: 10, cached: list, cachedTotal: 20) == .unexplained)
    }

    @Test("an anchor behind a gap counts nothing: what lies before it is not known")
    func anchorsBehindGaps() {
        #expect(decide(["n", "i10"], total: 21, cached: list, cachedTotal: 20, headEnd: 5) == .unexplained)
    }

    @Test("an answer that repeats an id explains nothing")
    func repeated() {
        #expect(decide(["i0", "i0", "i1", "i2", "i3"], total: 21, cached: list, cachedTotal: 20) == .unexplained)
    }

    @Test("whatever happens inside the head, the splice makes the cached list the origin's", arguments: 0..<500)
    func property(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let size = 10
        var origin = (0..<Int.random(in: 0...60, using: &random)).map { "i\($0)" }
        let cached = origin
        // Changes that the head can show: all within what page one will hold before and after.
        for change in 0..<Int.random(in: 0...3, using: &random) {
            let window = min(size - 4, origin.count)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: origin.insert("new\(change)", at: Int.random(in: 0...max(window, 0), using: &random))
            case 1 where window > 0: origin.remove(at: Int.random(in: 0..<window, using: &random))
            case 2 where !origin.isEmpty:
                let item = origin.remove(at: Int.random(in: 0..<origin.count, using: &random))
                origin.insert(item, at: Int.random(in: 0...min(window, origin.count), using: &random))
            default: break
            }
        }
        let answer = Array(origin.prefix(size))
        switch decide(answer, total: origin.count, cached: cached, cachedTotal: cached.count) {
        case .unchanged: #expect(origin == cached)
        case .spliced(let replaced, let moved):
            var list = cached
            for position in moved.reversed() { list.remove(at: position) }
            list.replaceSubrange(0..<replaced, with: answer)
            #expect(list == origin, "seed \(seed)")
        case .firstLoad: #expect(cached.isEmpty)
        case .noOverlap, .unexplained, .doubtful: break  // read again: costs requests, never truth
        }
    }
}

@Suite("The load plan")
struct LoadPlanTests {
    private func list(_ ranges: [Range<Int>], total: Total = .unknown, end: Int? = nil, cursor: String? = nil) -> ListOutline {
        let record = QueryRecord(
            id: QueryID(rawValue: 1), key: QueryKey("k"), version: ListVersion(generation: 1, revision: 0), total: total, end: end,
            validatedAt: noon, createdAt: noon, allowsDuplicates: false, paging: "", source: "")
        let pages = ranges.map { range in
            PageSummary(
                offset: range.lowerBound, count: range.count, generation: 1, revision: 0, evidence: .inferred, evidenceAt: noon,
                fetchedAt: noon, validatedAt: noon, fingerprint: 0, cursorIn: nil, cursorOut: cursor.map { PageCursor($0) },
                validator: nil)
        }
        return ListOutline(record: record, pages: pages, ledger: [])
    }

    @Test("offsets: the gaps, in pages")
    func offsets() {
        let list = list([0..<10, 20..<25], total: .exact(32))
        #expect(LoadPlan.targets(for: list, access: .offsets, size: 10) == [.span(10..<20), .span(25..<32)])
    }

    @Test("a grid: whole pages of the origin, each once (R21)")
    func grid() {
        let list = list([0..<10, 12..<18], total: .exact(35))
        #expect(LoadPlan.targets(for: list, access: .grid(size: 10), size: 10) == [.span(10..<20), .span(20..<30), .span(30..<40)])
    }

    @Test("no total: one page behind what is held, and the answer tells")
    func openEnd() {
        #expect(LoadPlan.targets(for: list([0..<10]), access: .offsets, size: 10) == [.span(10..<20)])
        #expect(LoadPlan.targets(for: list([0..<10], end: 10), access: .offsets, size: 10) == [])
    }

    @Test("a chain: what the head run's last page handed over, until the end is known")
    func chain() {
        #expect(LoadPlan.targets(for: list([0..<10], cursor: "c"), access: .chain, size: 10) == [.follow(PageCursor("c"), offset: 10)])
        #expect(LoadPlan.targets(for: list([0..<10], end: 10, cursor: "c"), access: .chain, size: 10) == [])
        #expect(LoadPlan.targets(for: list([0..<10]), access: .single, size: 10) == [])
    }

    @Test("R44: a total that lies drives neither an allocation nor a loop")
    func hugeTotals() {
        for access in [PagingAccess.offsets, .grid(size: 10)] {
            #expect(LoadPlan.targets(for: list([0..<10], total: .exact(1 << 53)), access: access, size: 10).count == LoadPlan.longest)
        }
    }
}
