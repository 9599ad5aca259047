/// Smaller plans, for finding the smallest plan that still shows a failure.
extension OriginPlan {
    /// The measure that shrinking reduces: the amount of detail in a plan. Never negative.
    ///
    /// The weight is the sum of the numbers of items, of items in a page and of items that events change. Each event
    /// adds 1, and so does each place of an event that is not the start. Each feature adds its distance from its
    /// plainest form.
    public var weight: Int {
        max(count, 0) + max(pageSize, 0) + events.reduce(0) { $0 + $1.weight } + style.weight + totals.weight
            + behaviour.weight
            + [
                largestPage < OriginPlan.noLargestPage, validators != .none, pastEnd != .emptyPage, saysHasMore,
                identity != .ids,
            ].count(where: \.self)
    }

    /// Plans with less detail: first with fewer events, then with fewer items, plainer features and smaller events.
    /// Each has a smaller `weight`, so that repeated shrinking ends.
    public var smaller: [OriginPlan] {
        (withFewerEvents + withFewerItems + withPlainerFeatures + withSmallerEvents).filter { $0.weight < weight }
    }

    private func with(_ change: (inout OriginPlan) -> Void) -> OriginPlan {
        var plan = self
        change(&plan)
        return plan
    }

    private var withFewerEvents: [OriginPlan] {
        let half = events.count / 2
        var fewer: [[OriginEvent]] = events.isEmpty ? [] : [[]]
        if events.count > 2 { fewer += [Array(events[..<half]), Array(events[half...])] }
        if events.count > 1 {
            fewer += events.indices.map { index in Array(events[..<index] + events[(index + 1)...]) }
        }
        return fewer.map { events in with { $0.events = events } }
    }

    private var withFewerItems: [OriginPlan] {
        let sizes = pageSize > 2 ? [pageSize / 2, pageSize - 1].filter { $0 >= 2 } : []
        return count.smaller(orBy: pageSize).map { count in with { $0.count = count } }
            + sizes.map { size in with { $0.pageSize = size } }
    }

    private var withPlainerFeatures: [OriginPlan] {
        Style.allCases.filter { $0.weight < style.weight }.map { style in with { $0.style = style } }
            + totals.smaller.map { totals in with { $0.totals = totals } }
            + behaviour.smaller.map { behaviour in with { $0.behaviour = behaviour } }
            + [
                with { $0.largestPage = OriginPlan.noLargestPage },
                with { $0.validators = .none },
                with { $0.pastEnd = .emptyPage },
                with { $0.saysHasMore = false },
                with { $0.identity = .ids },
            ]
    }

    private var withSmallerEvents: [OriginPlan] {
        events.indices.flatMap { index in
            events[index].smaller.map { event in with { $0.events[index] = event } }
        }
    }
}

extension OriginPlan.Style {
    /// The weight of the style: 0 for the plainest.
    fileprivate var weight: Int {
        switch self {
        case .offset: 0
        case .page, .cursor: 1
        case .keyset, .link: 2
        }
    }
}

extension OriginPlan.Totals {
    fileprivate var weight: Int {
        switch self {
        case .exact: 0
        case .none, .zero, .capped: 1
        case .lagging(let number), .estimated(let number), .tooLow(let number), .tooHigh(let number),
            .jittering(let number):
            1 + max(number, 0)
        }
    }

    fileprivate var smaller: [OriginPlan.Totals] {
        let less: [OriginPlan.Totals] =
            switch self {
            case .exact, .none, .zero, .capped: []
            case .lagging(let number): number.smaller(orBy: 1).map { .lagging(requests: $0) }
            case .estimated(let number): number.smaller(orBy: 1).map { .estimated(within: $0) }
            case .tooLow(let number): number.smaller(orBy: 1).map { .tooLow(by: $0) }
            case .tooHigh(let number): number.smaller(orBy: 1).map { .tooHigh(by: $0) }
            case .jittering(let number): number.smaller(orBy: 1).map { .jittering(by: $0) }
            }
        return [.exact] + less
    }
}

extension OriginEvent {
    fileprivate var weight: Int {
        switch kind {
        case .change(let change): 1 + change.weight
        case .fault: 1
        }
    }

    fileprivate var smaller: [OriginEvent] {
        guard case .change(let change) = kind else { return [] }
        return change.smaller.map { OriginEvent(request: request, .change($0)) }
    }
}

extension OriginChange {
    fileprivate var weight: Int {
        switch self {
        case .insert(let place, let count), .delete(let place, let count), .hide(let place, let count):
            max(count, 0) + place.weight
        case .move(let from, let to): from.weight + to.weight
        case .edit(let place): place.weight
        case .resort: 1
        case .replaceAll(let count), .append(let count): max(count, 0)
        }
    }

    /// The same change with fewer items, or at the start of the list.
    fileprivate var smaller: [OriginChange] {
        switch self {
        case .insert(let place, let count):
            count.smaller(orBy: 1).filter { $0 > 0 }.map { .insert(at: place, count: $0) } + [
                .insert(at: .start, count: count)
            ]
        case .delete(let place, let count):
            count.smaller(orBy: 1).filter { $0 > 0 }.map { .delete(at: place, count: $0) } + [
                .delete(at: .start, count: count)
            ]
        case .hide(let place, let count):
            count.smaller(orBy: 1).filter { $0 > 0 }.map { .hide(at: place, count: $0) } + [
                .hide(at: .start, count: count)
            ]
        case .move(let from, let to): [.move(from: .start, to: to), .move(from: from, to: .start)]
        case .edit: [.edit(at: .start)]
        case .resort: []
        case .replaceAll(let count): count.smaller(orBy: 1).map { .replaceAll(count: $0) }
        case .append(let count): count.smaller(orBy: 1).filter { $0 > 0 }.map { .append(count: $0) }
        }
    }
}

extension OriginPlace {
    fileprivate var weight: Int { self == .start ? 0 : 1 }
}

extension Int {
    /// Returns 0, the half, the number less `step` and the number less 1, without repetitions and negative numbers.
    fileprivate func smaller(orBy step: Int) -> [Int] {
        var numbers: [Int] = []
        for number in [0, self / 2, self - step, self - 1]
        where number >= 0 && number < self && !numbers.contains(number) {
            numbers.append(number)
        }
        return numbers
    }
}
