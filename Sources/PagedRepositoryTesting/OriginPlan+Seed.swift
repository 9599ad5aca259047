import PagedRepository

extension OriginPlan {
    /// The plan of this seed: the same on every machine, for the same bounds.
    ///
    /// About half of the plans have exact totals, or all of them if the bounds exclude other totals. A plan has at most
    /// one empty answer or period of empty answers. Two of them, long enough apart, would look the same as an empty
    /// list.
    public init(seed: UInt64, bounds: OriginPlanBounds = OriginPlanBounds()) {
        var random = SeededGenerator(seed: seed)
        let style = random.pick(bounds.styles)
        let pageSize = random.number(in: bounds.pageSize)
        let count = random.count(bounds.count, pageSize: pageSize)
        self.init(seed: seed, style: style, count: count, pageSize: pageSize)
        largestPage = random.pick([pageSize, pageSize + random.number(below: 6), OriginPlan.noLargestPage])
        totals = random.totals(count: count, canDiffer: bounds.hasOtherTotals)
        validators = random.pick(weighted: [(2, .none), (1, .pages), (1, .pagesAndTotal), (1, .totalOnNotModified)])
        pastEnd = random.pick(PastEnd.allCases)
        saysHasMore = random.isLikely(30)
        identity = bounds.hasOtherIdentities ? random.pick(weighted: [(8, .ids), (1, .none), (1, .repeating)]) : .ids
        events = random.events(self, bounds)
    }
}

extension OriginFault {
    fileprivate var isEmpty: Bool {
        switch self {
        case .emptyAnswer, .emptyAnswers: true
        default: false
        }
    }
}

/// Draws the parts of a plan.
extension SeededGenerator {
    /// Draws empty lists, lists that end with a full page, and lists of one page more often than chance would. Paging
    /// often fails there.
    fileprivate mutating func count(_ range: ClosedRange<Int>, pageSize: Int) -> Int {
        let count =
            switch number(below: 100) {
            case ..<4: 0
            case ..<10: number(in: 1...pageSize)
            case ..<22: number(in: range) / pageSize * pageSize
            default: number(in: range)
            }
        return min(max(count, range.lowerBound), range.upperBound)
    }

    fileprivate mutating func totals(count: Int, canDiffer: Bool) -> OriginPlan.Totals {
        guard canDiffer, isLikely(50) else { return .exact }
        return switch number(below: 7) {
        case 0: .lagging(requests: number(in: 1...5))
        case 1: .capped(number(in: 1...max(count, 1)))
        case 2: .estimated(within: number(in: 1...10))
        case 3: .none
        case 4: .zero
        case 5: .tooLow(by: number(in: 1...10))
        default: .tooHigh(by: number(in: 1...20))
        }
    }

    mutating func events(_ plan: OriginPlan, _ bounds: OriginPlanBounds) -> [OriginEvent] {
        guard bounds.hasChanges || bounds.hasFaults, bounds.requests > 0 else { return [] }
        var hasEmptyAnswer = false
        let requests = (0..<number(in: bounds.events)).map { _ in number(in: 1...bounds.requests) }.sorted()
        return requests.map { request in
            guard bounds.hasFaults, !bounds.hasChanges || isLikely(35) else {
                return .before(request, change(plan, bounds))
            }
            var fault = fault(plan)
            if fault.isEmpty, hasEmptyAnswer { fault = .transport }
            hasEmptyAnswer = hasEmptyAnswer || fault.isEmpty
            return .on(request, fault)
        }
    }

    private mutating func change(_ plan: OriginPlan, _ bounds: OriginPlanBounds) -> OriginChange {
        if bounds.hasBulkChanges, isLikely(8) {
            return switch number(below: 4) {
            case 0: .resort(seed: next() >> 48)
            case 1: .replaceAll(count: number(in: bounds.count))
            case 2: .insert(at: place(), count: number(in: plan.pageSize...plan.pageSize * 3))
            default: .delete(at: place(), count: number(in: plan.pageSize...plan.pageSize * 6))
            }
        }
        return switch number(below: 100) {
        case ..<33: .insert(at: place(), count: number(in: 1...3))
        case ..<60: .delete(at: place(), count: number(in: 1...3))
        case ..<74: .move(from: place(), to: place())
        case ..<87: .edit(at: place())
        default: .append(count: number(in: 1...3))
        }
    }

    /// Draws a place. The ends of the list are drawn more often than by chance.
    private mutating func place() -> OriginPlace {
        switch number(below: 100) {
        case ..<30: .start
        case ..<40: .end
        default: OriginPlace(fraction: UInt16(number(below: 1 << 16)))
        }
    }

    private mutating func fault(_ plan: OriginPlan) -> OriginFault {
        let pause = Duration.milliseconds(200 + 100 * number(below: 19))
        let status = pick([400, 410])
        return pick(weighted: [
            (5, .transport), (3, .timeout), (3, .tooManyRequests(retryAfter: pause)), (2, .internalError),
            (2, .unavailable), (2, .emptyAnswer), (2, .emptyAnswers(for: .seconds(1 + number(below: 50)))),
            (3, .shortPage),
            // Without cursors, no cursor can expire.
            (plan.access == .chain ? 3 : 0, .cursorExpired(status: status)),
        ])
    }
}
