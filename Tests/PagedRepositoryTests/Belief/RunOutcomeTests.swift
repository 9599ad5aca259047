import PageModel
import Testing

@testable import PagedRepository

/// The table of outcomes. Each row is a stored list, an ending and the outcome.
@Suite("Outcome of a run")
struct RunOutcomeTests {
    private static let whole = held([0..<30], total: .exact(30), end: 30)
    private static let partial = held([0..<20], total: .exact(30))
    private static let failing = held(
        [0..<30], total: .exact(30), end: 30, ledger: [LedgerEntry(offset: 10, state: .failedRetryable, attempts: 1)])
    private static let failingFirst = held(
        [0..<30], total: .exact(30), end: 30, ledger: [LedgerEntry(offset: 0, state: .failedRetryable, attempts: 1)])
    private static let void = held([], total: .exact(5), end: 0)
    private static let cut = held([0..<20], total: .exact(30), end: nil, window: 20)
    private static let contradicting = held([0..<30], total: .exact(40), end: 30)
    private static let short = held([0..<30], total: .estimate(40), end: 30)
    private static let exceeding = held([0..<30], total: .exact(23), cursors: true)
    private static let linked = held([0..<30], total: .exact(30), cursors: true)
    private static let onePage = held([0..<10], total: .estimate(13), end: 10)

    /// A page one of 10 items that counts `total` items, and a last page that ends at 30.
    private static func count(
        _ total: Int, isEndStated: Bool = false, isEndShown: Bool = false, lastPage: Int = 10
    ) -> @Sendable (inout ListBelief, inout ListBelief.RunEnding) -> Void {
        { belief, _ in
            belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
            belief.pageOne.adopt(count: 10, next: nil, total: .exact(total))
            belief.observeStatement(of: .page(answer(0..<10, total: .exact(total))), to: .firstPage)
            let range = 30 - lastPage..<30
            let last = answer(range, total: .exact(total), hasMore: isEndStated ? false : nil)
            belief.observeStatement(of: .page(last), to: .range(range, overlap: 0))
            if isEndShown {
                let rest = answer(29..<30, total: .exact(total))
                belief.observeStatement(of: .page(rest), to: .range(30..<39, overlap: 1))
            }
        }
    }

    /// An origin whose totals alternate between two values.
    private static func alternating(
        _ totals: Int...
    ) -> @Sendable (inout ListBelief, inout ListBelief.RunEnding) -> Void {
        { belief, _ in
            for number in 0..<8 { _ = belief.observe(total: totals[number % totals.count], askedBehind: number) }
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var list: ListOutline?
        var ending: FetchQueue.Ending = .drained
        var work: SyncOptions.Work = .everything
        var access: PagingAccess = .offsets
        var change: @Sendable (inout ListBelief, inout ListBelief.RunEnding) -> Void = { _, _ in }
        var outcome: SyncReport.Outcome
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "an origin without any answer is offline", list: whole, ending: .offline,
            change: { $1.originAnswered = false }, outcome: .offline),
        Row(name: "an origin that answered once is not offline", list: whole, ending: .offline, outcome: .incomplete),
        Row(name: "a budget that suffices for the whole list", list: whole, ending: .limited, outcome: .complete),
        Row(name: "a budget that leaves a gap", list: partial, ending: .limited, outcome: .limited),
        Row(
            name: "a budget that ends behind a total that counts too few", list: exceeding, ending: .limited,
            access: .chain, outcome: .limited),
        Row(
            name: "a budget that ends at the total, behind a page with a next link", list: linked, ending: .limited,
            access: .chain, outcome: .limited),
        Row(
            name: "a total that counts fewer items than are held, and no end", list: exceeding, access: .chain,
            outcome: .incomplete),
        Row(
            name: "a budget that ends while the last answers show a drift", list: whole, ending: .limited,
            change: { belief, _ in belief.drift.suspect() }, outcome: .limited),
        Row(
            name: "a budget that ends before page one was requested again", list: whole, ending: .limited,
            change: { belief, _ in belief.drift.asksUnconditionally = true }, outcome: .limited),
        Row(
            name: "a budget that ends before the changes of page one were found", list: whole, ending: .limited,
            change: { $1.headFailure = .status(503) }, outcome: .limited),
        Row(
            name: "a retry that is due later", list: whole, ending: .retryLater(Timestamp(milliseconds: 2_000_000)),
            outcome: .incomplete),
        Row(name: "a stopped run", list: whole, ending: .stopped, outcome: .incomplete),
        Row(
            name: "a page one that failed for now", list: whole,
            change: { $1.headFailure = FetchFailure(.transport, "away", isRetryable: true) }, outcome: .incomplete),
        Row(
            name: "a page one that failed for good", list: whole,
            change: { $1.headFailure = FetchFailure(.rejected, "no", isRetryable: false) }, outcome: .failed),
        Row(
            name: "a next page that arrived", list: partial, work: .next, change: { $1.isPartDone = true },
            outcome: .complete),
        Row(name: "a next page that did not arrive", list: whole, work: .next, outcome: .incomplete),
        Row(
            name: "an origin that repeats itself", list: whole, change: { belief, _ in belief.isUnproven = true },
            outcome: .unproven),
        Row(name: "an origin that counts items and returns none", list: void, outcome: .unproven),
        Row(name: "an origin with one page that shows more items", list: partial, access: .single, outcome: .unproven),
        Row(
            name: "the missing positions of an origin with one page that shows more items", list: partial,
            work: .positions(0..<Int.max), access: .single, outcome: .unproven),
        Row(
            name: "a refresh of a chain whose end contradicts its total", list: contradicting, work: .refresh,
            access: .chain, outcome: .incomplete),
        Row(
            name: "a refresh of a list by offset does not compare end and total", list: contradicting, work: .refresh,
            outcome: .complete),
        Row(name: "a list that its result window cuts off", list: cut, outcome: .limited),
        Row(name: "a list that ends a page before its total", list: short, change: count(40), outcome: .unproven),
        Row(
            name: "a refresh of a list that ends a page before its total", list: short, work: .refresh,
            change: count(40), outcome: .unproven),
        Row(
            name: "a budget that suffices for a list that ends a page before its total", list: short, ending: .limited,
            change: count(40), outcome: .limited),
        Row(
            name: "a list that ends a page before its total, as the origin states with a short page", list: short,
            change: count(40, isEndStated: true, lastPage: 9), outcome: .complete),
        Row(
            name: "a list that ends a page before its total, as the origin states with a full page", list: short,
            change: count(40, isEndStated: true, isEndShown: true), outcome: .unproven),
        Row(
            name: "a list that ends a page before its total, as an answer without new items shows", list: short,
            change: count(40, isEndShown: true), outcome: .complete),
        Row(
            name: "a list whose total counts more than two pages more, behind an answer without new items",
            list: short, change: count(51, isEndShown: true), outcome: .unproven),
        Row(
            name: "a chain that was walked to an end before its total", list: short, access: .chain, change: count(40),
            outcome: .complete),
        Row(
            name: "a list that ends less than a page before its total", list: short, change: count(39),
            outcome: .complete),
        Row(
            name: "a list of which only page one was returned, although it counts more", list: onePage,
            change: count(13), outcome: .unproven),
        Row(
            name: "a list that ends before each of its alternating totals", list: short, change: alternating(31, 33),
            outcome: .unproven),
        Row(
            name: "a chain that ends before each of its alternating totals", list: short, access: .chain,
            change: alternating(31, 33), outcome: .unproven),
        Row(
            name: "a list that ends at one of its alternating totals", list: short, change: alternating(30, 31),
            outcome: .complete),
        Row(name: "a complete list", list: whole, outcome: .complete),
        Row(name: "a list with a gap", list: partial, outcome: .incomplete),
        Row(name: "a complete list with a failed page", list: failing, outcome: .incomplete),
        Row(
            name: "a page one that failed in another run since this one fetched it", list: failingFirst,
            change: { $1.isHeadNew = true }, outcome: .complete),
        Row(name: "a page one that failed since it was confirmed", list: failingFirst, outcome: .incomplete),
        Row(
            name: "a failed page behind a new page one", list: failing, change: { $1.isHeadNew = true },
            outcome: .incomplete),
        Row(
            name: "a page one that failed in this run since it was fetched", list: failingFirst,
            change: { _, ending in
                ending.isHeadNew = true
                ending.headFailure = .status(503)
            }, outcome: .incomplete),
        Row(name: "a refresh does not look at failed pages", list: failing, work: .refresh, outcome: .complete),
        Row(name: "a list that was purged", list: nil, outcome: .incomplete),
    ]

    @Test("A reached total completes a list by position, and a chain only together with a known end (R24)")
    func reachedTotal() {
        let ended = held([0..<30], total: .exact(30), end: 30, cursors: true)
        for (list, isComplete) in [(Self.linked, false), (ended, true), (held([0..<30], total: .exact(30)), true)] {
            #expect(list.isComplete == isComplete)
            #expect(ListState(list).isComplete == isComplete)
        }
    }

    @Test("No list is complete while anything shows that items are missing, however the run ended")
    func evidence() {
        let evidence: [(name: String, list: ListOutline, change: (inout ListBelief) -> Void)] = [
            ("a gap", Self.partial, { _ in }), ("no items", Self.void, { _ in }), ("a window", Self.cut, { _ in }),
            ("answers that contradict each other", Self.whole, { $0.isUnproven = true }),
            (
                "a page more", Self.short,
                { belief in
                    var ending = ListBelief.RunEnding(fetching: .drained, work: .everything, access: .offsets)
                    Self.count(40)(&belief, &ending)
                }
            ),
        ]
        let endings: [FetchQueue.Ending] = [.drained, .limited, .stopped, .offline]
        for access in [PagingAccess.offsets, .grid(size: 10)] {
            for work in [SyncOptions.Work.everything, .sweep, .refresh] {
                for fetching in endings {
                    for (name, list, change) in evidence {
                        var belief = ListBelief()
                        change(&belief)
                        let ending = ListBelief.RunEnding(fetching: fetching, work: work, access: access)
                        let outcome = belief.outcome(ListState(list), ending)
                        #expect(outcome != .complete, "\(name), \(access), \(work), \(fetching)")
                    }
                }
            }
        }
    }

    @Test("The outcome follows from the belief, the stored list and the ending", arguments: rows)
    func outcome(_ row: Row) {
        var belief = ListBelief()
        var ending = ListBelief.RunEnding(fetching: row.ending, work: row.work, access: row.access)
        row.change(&belief, &ending)
        #expect(belief.outcome(row.list.map { ListState($0) }, ending) == row.outcome)
    }

    @Test(
        "The failure of a call is the latest failure, at the first position that failed in the same way during the run")
    func decisiveFailure() {
        func entry(_ offset: Int, _ status: Int, at moment: Int64) -> LedgerEntry {
            LedgerEntry(
                offset: offset, state: .failedRetryable, lastAttemptAt: Timestamp(milliseconds: moment),
                failure: .status(status))
        }
        let entries = [entry(10, 503, at: 1), entry(30, 404, at: 2), entry(40, 404, at: 3)]
        #expect(entries.decisive(within: .milliseconds(1))?.offset == 30)
        #expect([LedgerEntry]().decisive(within: .seconds(1)) == nil)
        // Page one failed in the same way before the run.
        let earlier = [entry(0, 503, at: 1), entry(10, 503, at: 9)]
        #expect(earlier.decisive(within: .milliseconds(7))?.offset == 10)
        #expect(earlier.decisive(within: .seconds(-1))?.offset == 10)
    }
}
