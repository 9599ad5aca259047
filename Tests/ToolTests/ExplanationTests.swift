#if Tool
import PageModel
import Testing

@testable import pagecache

/// The output of `why` is true of the outline, complete, and names a next step.
@Suite("An explanation")
struct ExplanationTests {
    private func sentences(_ list: ListOutline, _ topic: Explanation.Topic? = nil) -> [String] {
        Explanation(of: list, now: Sample.now).sentences.filter { topic == nil || $0.topic == topic }.map(\.text)
    }

    private func sentences(_ list: ListOutline, at position: Int) -> String {
        Explanation(of: list, at: position, now: Sample.now).sentences.map(\.text).joined(separator: " ")
    }

    private let id = QueryKey("http://h/items").shortID

    @Test("A complete and fresh list needs no action")
    func nothingToDo() {
        let list = Sample.list([Sample.page(0..<50), Sample.page(50..<100)], total: .exact(100))
        #expect(
            sentences(list) == [
                "All 100 items are held.",
                "The list is fresh: page one was validated 5 s ago, and it counts as fresh for 60 s.",
                "No action is needed.",
            ])
    }

    @Test("Never fetched, fetched and empty, and unknown length are three different states (R11)")
    func holding() {
        #expect(sentences(Sample.list([], validated: nil), .holding) == ["The list was never fetched."])
        #expect(sentences(Sample.list([], end: 0), .holding) == ["The list was fetched, and is empty."])
        #expect(
            sentences(Sample.list([Sample.page(0..<10)]), .holding) == [
                "10 items are held; the length of the list is not known yet."
            ])
        var onePage = Sample.list([Sample.page(0..<10)])
        onePage.record.paging = "none"
        let text = sentences(onePage, .holding).joined()
        #expect(text.hasPrefix("10 items are held; page one may be a part of the list; 'pagecache sync "), "\(text)")
        #expect(text.hasSuffix(" --paging none' accepts it as the whole list."), "\(text)")
    }

    @Test("A stale list is explained with its age and its next refresh")
    func stale() {
        let list = Sample.list([Sample.page(0..<10, age: .seconds(300))], end: 10, validated: .seconds(300))
        #expect(
            sentences(list, .freshness) == [
                "The list is stale: page one was last validated 5 min ago, at 2027-01-15T07:55:00.000Z, and it counts as fresh for 60 s."
            ])
        #expect(
            sentences(list, .next) == [
                "The list is not pinned, so nothing refreshes it automatically; 'pagecache sync \(id)' does."
            ])
        var pinned = list
        pinned.record.isPinned = true
        #expect(
            sentences(pinned, .next) == [
                "The list is pinned: the next 'pagecache sync --due' or a running service refreshes it."
            ])
    }

    /// Returns a complete list with a last validation of this age.
    private func aged(_ age: Duration, freshFor: Duration? = nil, isPinned: Bool = false) -> ListOutline {
        var list = Sample.list([Sample.page(0..<10, age: age)], end: 10, validated: age, isPinned: isPinned)
        list.record.freshFor = freshFor
        return list
    }

    @Test("The origin's freshness lifetime determines staleness and is explained")
    func originsWord() {
        #expect(
            sentences(aged(.seconds(300), freshFor: .seconds(600)), .freshness) == [
                "The list is fresh: page one was validated 5 min ago, and the origin calls it fresh for 10 min."
            ])
        #expect(
            sentences(aged(.seconds(30), freshFor: .seconds(20)), .freshness) == [
                "The list is stale: page one was last validated 30 s ago, at 2027-01-15T07:59:30.000Z, and the origin calls it fresh for 20 s."
            ])
        #expect(
            sentences(aged(.zero, freshFor: .zero), .freshness).first?.hasSuffix(
                "the origin calls it fresh for no time at all.") == true)
        let day = sentences(aged(.seconds(30), freshFor: .seconds(172_800)), .freshness)
        #expect(day.first?.hasSuffix("the origin calls it fresh for 2 d, but at most 60 min counts.") == true, "\(day)")
        #expect(
            sentences(aged(.seconds(300), freshFor: .seconds(600), isPinned: true), .next) == [
                "The list is pinned: from 2027-01-15T08:05:00.000Z on, 'pagecache sync --due' or a running service refreshes it."
            ])
    }

    @Test("A freshness age from the operator takes precedence, and is part of the suggested command")
    func operatorsWord() {
        let policy = FreshnessPolicy(operatorSays: DurationArgument(argument: "90s"))
        func said(_ list: ListOutline) -> [String] {
            Explanation(of: list, policy: policy, now: Sample.now).sentences.map(\.text)
        }
        let stale = said(aged(.seconds(300), freshFor: .seconds(600), isPinned: true))
        #expect(stale[1].hasSuffix("it counts as fresh for 90 s, as --stale-after says; the origin says 10 min."))
        #expect(
            stale.last
                == "The list is pinned: the next 'pagecache sync --due --stale-after 90s' or a running service refreshes it."
        )
        #expect(
            said(aged(.seconds(5)))[1]
                == "The list is fresh: page one was validated 5 s ago, and it counts as fresh for 90 s.")
        #expect(FreshnessPolicy(operatorSays: nil) == FreshnessPolicy())
    }

    @Test("An invalidated list of any age is stale at every position, and the cause is explained")
    func invalidated() {
        var list = aged(.seconds(5), freshFor: .seconds(600))
        list.record.invalidatedAt = Sample.ago(.seconds(240))
        let said = sentences(list, .freshness)
        #expect(
            said == [
                "The list is stale: page one was last validated 5 s ago, at 2027-01-15T07:59:55.000Z, and the list was invalidated after that.",
                "A program that uses the store invalidated the list 4 min ago, at 2027-01-15T07:56:00.000Z. Every position counts as stale until page one has been fetched again.",
            ])
        #expect(
            sentences(list, .next) == [
                "The list is not pinned, so nothing refreshes it automatically; 'pagecache sync \(id)' does."
            ])
        #expect(sentences(list, at: 3).contains("The page is stale: it was last validated 5 s ago"))
        #expect(sentences(list, at: 3).contains("invalidated the list"))
    }

    @Test("A clock that was set back is explained (R29)")
    func clockSetBack() {
        let list = Sample.list([Sample.page(0..<10)], end: 10, validated: .seconds(-600))
        #expect(sentences(list, .freshness).first?.contains("in the future") == true)
    }

    @Test("A fresh page one with old pages after it is explained (R23)")
    func oldPages() {
        var list = Sample.list([Sample.page(0..<10), Sample.page(10..<20, age: .seconds(86_400 * 3))], end: 20)
        #expect(sentences(list, .freshness).count == 2)
        #expect(
            sentences(list, .freshness).last?.hasPrefix("The oldest page, at position 10, was last validated 3 d ago")
                == true)
        let none = "No sweep has finished yet, and syncs have not checked every page again yet."
        #expect(sentences(list, .freshness).last?.contains(none) == true)
        list.record.lastAuditAt = Sample.ago(.seconds(86_400 * 2))
        let last = "Every page was last checked again, by a sweep or by syncs, 2 d ago."
        #expect(sentences(list, .freshness).last?.contains(last) == true)
    }

    @Test("Failures with one cause share a sentence, with the time of the next attempt")
    func failing() {
        let list = Sample.list(
            [Sample.page(0..<100)], total: .exact(400),
            ledger: [
                Sample.failing(100), Sample.failing(200, next: .seconds(50)),
                Sample.failing(300, next: nil, isRetryable: false, attempts: 1, "not JSON", .undecodable),
            ])
        let failures = sentences(list, .failure)
        #expect(failures.count == 3)
        #expect(
            failures[0]
                == "2 pages fail, the first at position 100: the origin answered 500. 2 attempts; the first failed 5 min ago (2027-01-15T07:55:00.000Z)."
        )
        #expect(failures[1].hasPrefix("The page at position 300 fails: not JSON. 1 attempt,"))
        #expect(failures[2].contains("--items"))
        let next = sentences(list, .next)
        #expect(
            next[0]
                == "These pages are tried again in 30 s, at 2027-01-15T08:00:30.000Z, by a running service or by 'pagecache sync --due'; 'pagecache retry \(id)' tries now."
        )
        #expect(
            next[1]
                == "The page at position 300 is not retried automatically, because a retry would not help; 'pagecache retry \(id) --permanent' retries it."
        )
    }

    @Test("A failure of page one has its own sentence and one next step")
    func pageOne() {
        var list = Sample.list(
            [], validated: nil, ledger: [Sample.failing(0, next: nil, attempts: 8, "cannot connect", .transport)],
            isPinned: true)
        #expect(
            sentences(list, .failure) == [
                "Page one fails: cannot connect. 8 attempts; the first failed 5 min ago (2027-01-15T07:55:00.000Z)."
            ])
        #expect(
            sentences(list, .next) == [
                "Page one has used all attempts. 'pagecache sync --due' or a service tries again five minutes after the last attempt; 'pagecache retry \(id)' tries now."
            ])
        list.record.isPinned = false
        #expect(
            sentences(list, .next).first
                == "Page one has used all attempts. No retry is scheduled: the list is not pinned. 'pagecache retry \(id)' tries now."
        )
    }

    @Test("A failure recorded at page one is that of the check for changes when page one was validated after it began")
    func checkFails() {
        var list = Sample.list([Sample.page(0..<100)], end: 100, ledger: [Sample.failing(0)])
        #expect(sentences(list, .failure).first?.hasPrefix("The check for changes fails: the origin answered") == true)
        list.record.validatedAt = Sample.ago(.seconds(600))
        #expect(sentences(list, .failure).first?.hasPrefix("Page one fails: the origin answered") == true)
    }

    @Test("An overdue page is explained")
    func due() {
        let list = Sample.list(
            [Sample.page(0..<100)], total: .exact(200), ledger: [Sample.failing(100, next: .seconds(-90))])
        #expect(
            sentences(list, .next) == [
                "The page at position 100 has been due for 90 s: the next 'pagecache sync --due' or a running service tries again; 'pagecache retry \(id)' does so now."
            ])
    }

    @Test("A pause that the origin requested is explained (R28)")
    func retryAfter() {
        var entry = Sample.failing(100)
        entry.retryAfterUntil = Sample.now + .seconds(30)
        let list = Sample.list([Sample.page(0..<100)], total: .exact(200), ledger: [entry])
        #expect(
            sentences(list, .failure).last
                == "The origin asks for no request before 2027-01-15T08:00:30.000Z (Retry-After).")
    }

    @Test("A page in flight is explained, also when its process has died (R30)")
    func inFlight() {
        let living = LedgerEntry(
            offset: 100, state: .inFlight, lastAttemptAt: Sample.ago(.seconds(3)), leaseOwner: "a",
            leaseExpiresAt: Sample.now + .seconds(57))
        let dead = LedgerEntry(offset: 0, state: .inFlight, leaseOwner: "b", leaseExpiresAt: Sample.ago(.seconds(1)))
        let list = Sample.list([Sample.page(0..<100)], total: .exact(200), ledger: [dead, living])
        #expect(
            sentences(list, .fetching) == [
                "The page at position 100 is being fetched; the request was sent 3 s ago. If the fetching process ends first, another process can fetch the page in 57 s at the latest.",
                "A process ended while it fetched page one. The next 'pagecache sync \(id)' fetches it at once.",
            ])
    }

    @Test("Pages in flight of one kind share a sentence")
    func severalInFlight() {
        func entries(_ offsets: [Int], _ lease: Duration) -> [LedgerEntry] {
            offsets.map {
                LedgerEntry(
                    offset: $0, state: .inFlight, lastAttemptAt: Sample.ago(.seconds(3)), leaseOwner: "a",
                    leaseExpiresAt: Sample.now + lease)
            }
        }
        let list = Sample.list(
            [Sample.page(0..<100)], total: .exact(600),
            ledger: entries([100, 200, 300], .seconds(57)) + entries([400, 500], .seconds(-1)))
        #expect(
            sentences(list, .fetching) == [
                "3 pages (the first at position 100) are being fetched; the first request was sent 3 s ago. If a fetching process ends first, another process can fetch its pages in 57 s at the latest.",
                "A process ended while it fetched 2 pages (the first at position 400). The next 'pagecache sync \(id)' fetches them at once.",
            ])
    }

    @Test("Inferred seams are explained, with the way to verify them (G1)")
    func evidence() {
        let list = Sample.list([Sample.page(0..<10), Sample.page(10..<20, evidence: .inferred)], end: 20)
        #expect(
            sentences(list, .evidence) == [
                "1 seam between pages is inferred, not verified; nothing is known to be wrong. 'pagecache sync \(id) --sweep' verifies it."
            ])
        #expect(!sentences(list).contains("No action is needed."), "a sweep is recommended")
    }

    @Test("Pages joined only by the origin's own cursors are explained, without the advice to sweep")
    func chained() {
        var pages = [
            Sample.page(0..<10), Sample.page(10..<20, evidence: .inferred), Sample.page(20..<30, evidence: .inferred),
        ]
        pages[0].cursorOut = PageCursor("b")
        pages[1].cursorIn = PageCursor("b")
        #expect(
            sentences(Sample.list(pages, end: 30), .evidence) == [
                "1 page follows the page before by a link or cursor of the origin. No answer contains the end of one page and the start of the next, so a sweep cannot check their order.",
                "1 seam between pages is inferred, not verified; nothing is known to be wrong. 'pagecache sync \(id) --sweep' verifies it.",
            ])
        pages[1].cursorOut = PageCursor("c")
        pages[2].cursorIn = PageCursor("c")
        let said = sentences(Sample.list(pages, end: 30), .evidence)
        #expect(said.count == 1 && said[0].hasPrefix("2 pages follow the page before"))
        #expect(
            sentences(Sample.list(pages, end: 30), at: 12).contains(
                "follows the page before it by the origin's cursor or link"))
    }

    @Test("An interrupted sweep, and gaps without failures, are continued by the next run")
    func goesOn() {
        let list = Sample.list(
            [Sample.page(0..<100)], total: .exact(200),
            sweep: SweepProgress(position: 50, startedAt: Sample.ago(.seconds(7_200))))
        let next = sentences(list, .next)
        #expect(next[0].contains("verified everything before position 50"))
        #expect(next.last == "The next 'pagecache sync \(id)' fetches the missing pages that are not failing.")
    }

    @Test("No run fetches the missing pages of a list without a known way to them")
    func noWay() {
        var list = Sample.list([Sample.page(0..<20)], total: .exact(200))
        list.record.paging = "none"
        let way = "No way to the missing pages is known. Name it: 'pagecache sync \(id) --paging STYLE' (or --next)."
        #expect(sentences(list, .next).last == way)
        list.record.paging = "offset"
        #expect(!sentences(list, .next).contains(way))
    }

    @Test("A sentence about pages with different numbers of attempts states the largest one")
    func differingAttempts() {
        let list = Sample.list(
            [Sample.page(0..<100)], total: .exact(300),
            ledger: [Sample.failing(100, attempts: 1), Sample.failing(200, attempts: 4)])
        #expect(
            sentences(list, .failure)
                == [
                    "2 pages fail, the first at position 100: the origin answered 500. Up to 4 attempts for a page so far; the first failed 5 min ago (2027-01-15T07:55:00.000Z)."
                ])
    }

    // MARK: One position

    @Test("A held position is explained by its page, its age and its evidence")
    func heldPlace() {
        let list = Sample.list(
            [Sample.page(0..<10), Sample.page(10..<20, age: .seconds(90), evidence: .inferred)], end: 20)
        let said = sentences(list, at: 12)
        #expect(said.hasPrefix("Position 12 is stored, in the page at 10–19, which was fetched 90 s ago"))
        #expect(said.contains("The page is stale: it was last validated 90 s ago"))
        #expect(said.contains("this has been assumed since"))
        #expect(!sentences(list, at: 3).contains("follows"), "page one has no page before it")
    }

    @Test("A missing position is explained by its gap and the cause")
    func missingPlace() {
        let list = Sample.list(
            [Sample.page(0..<100), Sample.page(300..<400)], total: .exact(500), ledger: [Sample.failing(200)])
        let failing = sentences(list, at: 250)
        #expect(
            failing.hasPrefix(
                "Position 250 is missing: nothing is held at 100–299. The page at position 200 fails: the origin answered 500."
            ))
        #expect(sentences(list, at: 150).contains("was not requested yet"))
        #expect(sentences(list, at: 450).hasPrefix("Position 450 is missing: nothing is held at 400–499."))
    }

    @Test("A position after the end does not exist, and one after an unknown end may exist")
    func behindTheEnd() {
        #expect(
            sentences(Sample.list([Sample.page(0..<10)], end: 10), at: 10)
                == "Position 10 does not exist: the list ends at 10.")
        #expect(
            sentences(Sample.list([Sample.page(0..<10)]), at: 10).hasPrefix(
                "Position 10 is after all held positions"))
        #expect(sentences(Sample.list([], validated: nil), at: 10).hasPrefix("The list was never fetched."))
    }
}
#endif
