import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@Suite("Plans of a simulated origin")
struct OriginPlanTests {
    @Test("Two thousand seeds exercise every kind of event")
    func coverage() async {
        var hits: [String: Int] = [:]
        for seed in 0..<2_000 as Range<UInt64> {
            let origin = SimulatedOrigin(OriginPlan(seed: seed))
            _ = await ListWalker(origin).answers(to: 70)
            #expect(origin.isQuiet)
            hits.merge(origin.occurrences, uniquingKeysWith: +)
        }
        for kind in SimulatedOrigin.ordinaryOccurrences where kind != "cursorUnknown" {
            #expect(hits[kind, default: 0] >= 20, "\(kind)")
        }
    }

    @Test("Plans from seeds stay within the requested bounds")
    func distribution() {
        let plans = (0..<2_000).map { OriginPlan(seed: $0) }
        #expect(plans.allSatisfy { (0...200).contains($0.count) && (3...12).contains($0.pageSize) })
        #expect(plans.allSatisfy { (0...12).contains($0.events.count) && $0.events.map(\.request).isAscending })
        #expect(plans.allSatisfy { $0.events.count(where: \.isEmptyAnswer) <= 1 })
        #expect((900...1_150).contains(plans.count { $0.totals == .exact }))
        for style in OriginPlan.Style.allCases { #expect(plans.count { $0.style == style } > 150) }
        for validators in OriginPlan.Validators.allCases { #expect(plans.count { $0.validators == validators } > 250) }
        for identity in OriginPlan.Identity.allCases { #expect(plans.count { $0.identity == identity } > 120) }

        let bounds = OriginPlanBounds(
            styles: [.keyset], count: 40...50, pageSize: 5...5, events: 3...4, requests: 10, hasFaults: false,
            hasBulkChanges: false, hasOtherTotals: false, hasOtherIdentities: false)
        for plan in (0..<500).map({ OriginPlan(seed: $0, bounds: bounds) }) {
            #expect(plan.style == .keyset)
            #expect((40...50).contains(plan.count))
            #expect(plan.pageSize == 5)
            #expect((3...4).contains(plan.events.count))
            #expect(plan.totals == .exact)
            #expect(plan.identity == .ids)
            for event in plan.events {
                #expect((1...10).contains(event.request))
                guard case .change(let change) = event.kind else {
                    Issue.record("\(event) is a fault")
                    return
                }
                switch change {
                case .resort, .replaceAll: Issue.record("\(change) is a bulk change")
                case .insert(_, let count), .delete(_, let count), .append(let count): #expect((1...3).contains(count))
                case .move, .edit: break
                case .hide: Issue.record("\(change) is of another kind")
                }
            }
        }
    }

    @Test("Every shrink candidate is smaller, and repeated shrinking ends at the simplest plan")
    func shrinking() {
        for seed in 0..<300 as Range<UInt64> {
            let plan = OriginPlan(seed: seed)
            #expect(plan.smaller.allSatisfy { $0.weight < plan.weight && $0.weight >= 0 && $0 != plan })
            // Always the first candidate, as for a failure that occurs with any plan. Then always the last and smallest
            // step.
            for choose in [{ $0.first }, { $0.last }] as [([OriginPlan]) -> OriginPlan?] {
                var plan = plan
                var steps = 0
                let limit = plan.weight
                while steps <= limit, let smaller = choose(plan.smaller) {
                    plan = smaller
                    steps += 1
                }
                #expect(steps <= limit)
                #expect(plan == OriginPlan(seed: seed, count: 0, pageSize: plan.pageSize))
                #expect(plan.pageSize <= 3)
            }
        }
    }

    @Test("Shrinking keeps the parts that a failure needs, and little else")
    func minimal() {
        /// Stands for a failure that needs more than 20 items and a deletion of two items.
        func fails(_ plan: OriginPlan) -> Bool {
            plan.count > 20
                && plan.events.contains {
                    if case .change(.delete(_, let count)) = $0.kind { count >= 2 } else { false }
                }
        }
        let failing = (0..<300).map { OriginPlan(seed: $0) }.filter(fails)
        #expect(failing.count > 50)
        for var plan in failing {
            while let smaller = plan.smaller.first(where: fails) { plan = smaller }
            #expect(plan.count == 21)
            #expect(plan.events.count == 1)
            #expect(plan.events.first?.kind == .change(.delete(at: .start, count: 2)))
            #expect(plan.totals == .exact)
            #expect(plan.style == .offset)
        }
    }

    @Test("A place denotes the same number in any list of the same length")
    func places() {
        for count in 1...300 {
            for number in 0..<count { #expect(OriginPlace.number(number, of: count).number(of: count) == number) }
            #expect(OriginPlace.end.number(of: count) == count - 1)
            #expect(OriginPlace.start.number(of: count) == 0)
        }
        #expect(OriginPlace.middle.number(of: 10) == 5)
        #expect(OriginPlace.end.number(of: 0) == 0)
    }

    @Test("The description of a plan has one line for the plan and one for each event")
    func description() {
        let plan = OriginPlan(
            seed: 7, style: .keyset, count: 30, pageSize: 5, largestPage: 8, totals: .lagging(requests: 2),
            validators: .pages, pastEnd: .refused, saysHasMore: true, identity: .repeating,
            events: [.before(3, .insert(at: .middle, count: 2)), .on(4, .tooManyRequests(retryAfter: .seconds(1)))])
        #expect(
            "\(plan)" == """
                seed 7: keyset style, 30 items by 5 (at most 8), totals lagging 2, validators pages, ids repeating, \
                past the end refused, says hasMore
                  before 3: insert 2 at 32768/65536
                  on 4: 429, retry after 1000 ms
                """)
    }
}

extension [Int] {
    fileprivate var isAscending: Bool { zip(self, dropFirst()).allSatisfy { $0 <= $1 } }
}

extension OriginEvent {
    fileprivate var isEmptyAnswer: Bool {
        switch kind {
        case .fault(.emptyAnswer), .fault(.emptyAnswers): true
        default: false
        }
    }
}
