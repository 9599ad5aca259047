import PageModel
import Testing

@testable import PagedRepository

@Suite("What a run believes about a list")
struct ListBeliefTests {
    @Test("A list that has moved is suspected, and the run keeps the answers that may show where it moved (R21)")
    func drift() {
        var drift = DriftBelief()
        #expect(drift.isNone)
        drift.moved(answer(10..<20, total: .exact(40)), at: 10, isEnd: false, isCounted: false)
        drift.keep(.page(answer(20..<30, total: .exact(40))), at: 20)
        drift.keep(.page(answer(30..<40)), at: 30)
        drift.keep(.pastEnd, at: 40)
        #expect(drift.isSuspicious)
        #expect(
            drift.evidence.map(\.offset) == [10, 20], "an answer without an exact total shows no state of the list")
        let taken = drift.takeEvidence(total: .exact(41))
        #expect(taken.isEmpty, "answers with another total show another state")
        #expect(drift.evidence.isEmpty)
        drift.explained()
        #expect(drift.isNone)
    }

    @Test("More items are progress until the list has been held up to its end, and again after the list is replaced")
    func progress() {
        var history = PassHistory()
        let loading = [(10, false), (10, false), (20, true), (30, true), (40, true)].map {
            history.isProgress(held: $0.0, isWhole: $0.1)
        }
        #expect(loading == [true, false, true, false, false])
        history.replaced()
        let isProgress = history.isProgress(held: 5, isWhole: false)
        #expect(isProgress)
    }

    @Test("Two passes in a row that know no held item end a run, and two passes apart do not")
    func rewrites() {
        var history = PassHistory()
        history.ended(isProgress: true, isRewrite: true)
        let isOverAtOnce = history.isOver(restarts: 3)
        history.ended(isProgress: false, isRewrite: false)
        history.ended(isProgress: false, isRewrite: true)
        let isOverApart = history.isOver(restarts: 3)
        history.ended(isProgress: false, isRewrite: true)
        let isOver = history.isOver(restarts: 3)
        #expect([isOverAtOnce, isOverApart, isOver] == [false, false, true])
    }

    @Test("A change of the total alone does not put the rest of the list in doubt")
    func counted() {
        var drift = DriftBelief()
        drift.moved(answer(0..<0), at: 10, isEnd: false, isCounted: true)
        #expect(drift.isNone)
    }

    @Test("A reconciliation starts over twice, until a repair succeeds (R18)")
    func contradictions() {
        var drift = DriftBelief()
        #expect([drift.contradicted(), drift.contradicted(), drift.contradicted()] == [true, true, false])
        drift.repaired()
        #expect(drift.contradicted() == true)
    }

    @Test("Items that arrive at another place are counted, also by their content (R25)")
    func collisions() {
        var repeats = RepeatBelief()
        let identities = named(0..<2).identities
        #expect(repeats.observe(identities, at: 0, places(0..<2)) == RepeatBelief.Arrivals())
        let first = repeats.observe(identities, at: 10, places(0..<2))
        #expect(first.count == 1)
        let again = repeats.observe(identities, at: 10, places(0..<2))
        #expect(again.count == 2 && again.alike == 2)
        let edited = identities.map { ItemIdentity(key: $0.key, content: $0.content &+ 1) }
        let other = repeats.observe(edited, at: 10, places(0..<2))
        #expect(other.count == 3 && other.alike == 1)
    }

    @Test("Three answers in a row without a new item prove that the origin ignores positions (R24)")
    func deafness() {
        var repeats = RepeatBelief()
        for _ in 0..<2 { repeats.observe(hasNewItems: false) }
        #expect(!repeats.provesPositionsIgnored)
        repeats.observe(hasNewItems: true)
        for _ in 0..<3 { repeats.observe(hasNewItems: false) }
        #expect(repeats.provesPositionsIgnored)
    }

    @Test("Nine in ten known items make a page a repetition, and a page with fewer begins the count again (R24)")
    func repetitions() {
        var repeats = RepeatBelief()
        repeats.observe(known: 9, of: 10)
        repeats.observe(known: 45, of: 50)
        #expect(repeats.repetitions == 2)
        repeats.observe(known: 8, of: 10)
        #expect(repeats.repetitions == 0)
        #expect(SyncOptions().loopGuard == 20 && SyncOptions().emptyPageLimit == 1_000)
    }

    @Test("A sweep begins again after two failures at one position, and the count then starts at 0 (R31)")
    func sweepFailures() {
        var sweep = SweepHistory()
        let results = [20, 30, 20, 20, 30, 30].map { sweep.failed(at: $0) }
        #expect(results == [false, false, true, false, false, true])
    }

    @Test("An answer is short in the middle if the total counts items behind it, and items are known there (R53)")
    func short() {
        var belief = ListBelief()
        belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        let page = answer(10..<17, total: .exact(40))
        #expect(!belief.isShort(page, at: 10, .offsets), "nothing was returned behind it")
        belief.end.observe(itemsBefore: 30)
        #expect(belief.isShort(page, at: 10, .offsets))
        #expect(!belief.isShort(answer(10..<17, total: .exact(17)), at: 10, .offsets), "it is the last page")
        #expect(!belief.isShort(page, at: 10, .chain))
        #expect(belief.isShort(answer(40..<47, hasMore: true), at: 40, .offsets))
    }

    @Test("A short answer is requested again once items behind it have arrived (R53)")
    func shortAgain() {
        var belief = ListBelief()
        belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        let target = FetchTarget.range(10..<20, overlap: 0)
        belief.observeLength(of: .page(answer(10..<17, total: .exact(40))), to: target, .offsets)
        #expect(belief.hidden.shortAgain(furthest: 17) == [])
        #expect(belief.hidden.shortAgain(furthest: 30) == [target])
        #expect(belief.hidden.shortAgain(furthest: 30) == [])
        #expect(belief.hidden.isRepeated(short: named(10..<17).identities, at: 10) == true)
        #expect(belief.hidden.isRepeated(short: named(10..<18).identities, at: 10) == false)
    }

    @Test("A second short answer with the same ids proves hidden items, and so does a fourth with other ids (R53)")
    func shortAlike() {
        var belief = ListBelief()
        func items(_ names: [String], at time: Int) -> [ItemIdentity] {
            PageContent(
                names.map { RawItem(payload: Array(#"{"id":"\#($0)","at":\#(time)}"#.utf8), id: $0) }
            ).identities
        }
        #expect(belief.hidden.isRepeated(short: items(["a", "b"], at: 1), at: 10) == false)
        #expect(belief.hidden.isRepeated(short: items(["a", "b"], at: 2), at: 10) == true)
        let answers = ["c", "d", "e", "f"].map { belief.hidden.isRepeated(short: items([$0], at: 1), at: 20) }
        #expect(answers == [false, false, false, true])
    }

    @Test("A page one that repeats another id each time is requested again three times in a run (R25)")
    func otherRepeats() {
        var belief = ListBelief()
        let answers = (1...5).map { belief.pageOne.repeats([UInt64($0)]) }
        #expect(answers == [true, true, true, false, false])
        var other = ListBelief()
        let same = [other.pageOne.repeats([7]), other.pageOne.repeats([7]), other.pageOne.repeats([])]
        #expect(same == [true, false, false])
    }

    @Test("Items that arrive farther back three times, all by the same distance, show hidden items (R53)")
    func shifts() {
        var belief = ListBelief()
        #expect(belief.isShiftedAgain([2, 2], .offsets) == false)
        #expect(belief.isShiftedAgain([2, 2], .offsets) == false)
        #expect(belief.isShiftedAgain([2, 3], .offsets) == false, "a list that repeats ids looks like this")
        #expect(belief.isShiftedAgain([2, 2], .chain) == false)
        #expect(belief.isShiftedAgain([2, 2], .offsets) == true)
        belief.hidden.forgetMisplaced()
        #expect(belief.isShiftedAgain([2, 2], .offsets) == false)
    }

    @Test("A position that was not found for an hour counts as refused, if no item is held behind it (R24)")
    func notFound() {
        let since = Timestamp(milliseconds: 1_000_000)
        let failure = FetchFailure(.rejected, "gone", isRetryable: true, httpStatus: 404)
        var end = EndBelief()
        end.restore([
            LedgerEntry(offset: 20, state: .failedRetryable, attempts: 1, firstFailureAt: since, failure: failure)
        ])
        #expect(!end.isRefusedForLong(20, now: since + .seconds(3_599)))
        #expect(end.isRefusedForLong(20, now: since + .seconds(3_600)))
        #expect(end.isRefusedForLong(30, now: since + .seconds(3_600)))
        #expect(!end.isRefusedForLong(10, now: since + .seconds(3_600)))
        end.observe(held([0..<30]))
        #expect(!end.isRefusedForLong(30, now: since + .seconds(3_600)), "items are held behind the position")
    }

    @Test("A claim about the end is believed after page one has arrived in between (R20)")
    func witness() {
        var witness = EndWitness()
        let target = FetchTarget.range(20..<30, overlap: 0)
        let (asked, askedAgain) = (witness.ask(for: target, end: 20), witness.ask(for: target, end: 20))
        #expect(asked && !askedAgain)
        #expect(!witness.confirms(20, end: 20), "page one is not answered yet")
        #expect(witness.take() == target)
        #expect(witness.confirms(20, end: 20) && !witness.confirms(20, end: 19))
        #expect(witness.take() == nil)
    }

    @Test("Positions behind an empty one, and behind the first of two that were not found, are not requested")
    func fill() {
        var fill = PositionFill()
        #expect(fill.admits(50, suspected: nil) && !fill.admits(50, suspected: 40))
        fill.observe(notFound: 50)
        #expect(fill.admits(60, suspected: nil), "a single page may be missing")
        fill.observe(notFound: 40)
        #expect(!fill.admits(40, suspected: nil) && fill.admits(30, suspected: nil))
        fill.observe(emptyFrom: 30)
        fill.observe(emptyFrom: 60)
        #expect(!fill.admits(30, suspected: nil) && fill.admits(20, suspected: nil))
        fill.observe(withoutNewItems: 20)
        #expect(!fill.admits(20, suspected: nil))
        let (first, second) = (fill.confirms(10), fill.confirms(10))
        #expect(!first && second)
    }

    @Test("The size of a page is that of page one, unless the list ends with it (R24)")
    func sizes() {
        var sizes = PageSizes()
        sizes.observe(pageOne: 7, requested: 50, isWhole: true, isSure: true)
        #expect(sizes.size == 50 && sizes.full(.offsets) == 50 && sizes.full(.grid(size: 20)) == 20)
        sizes.observe(pageOne: 7, requested: 50, isWhole: false, isSure: false)
        #expect(sizes.size == 7 && sizes.full(.offsets) == nil)
        sizes.observe(pageOne: nil, requested: 50, isWhole: true, isSure: true)
        sizes.observe(page: 9)
        #expect(sizes.full(.offsets) == 7 && sizes.whole(.offsets) == 9)
    }
}
