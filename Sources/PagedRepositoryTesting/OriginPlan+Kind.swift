import PagedRepository

extension OriginPlan {
    /// The plan of this seed and kind: the same on every machine. For `.ordinary`, the plan is that of
    /// `OriginPlan(seed:)`.
    public init(seed: UInt64, kind: OriginKind) {
        guard kind != .ordinary else {
            self.init(seed: seed)
            return
        }
        var random = SeededGenerator(seed: seed, stream: kind.stream)
        self = random.plain(seed, kind)
        switch kind {
        case .ordinary: break
        case .hidden: random.hide(in: &self)
        case .overlapping:
            style = random.pick([.cursor, .keyset])
            behaviour.overlap = 1
        case .large: random.enlarge(&self)
        case .long: random.lengthen(&self)
        case .sizes: break
        case .sprouting: random.plant(&self)
        case .miscounted: random.miscount(&self)
        case .window: random.limitWindow(&self)
        case .endless: random.makeEndless(&self)
        case .shuffled:
            behaviour.order = random.pick([.withinPages, .everywhere])
            validators = .none
        case .trailing:
            style = random.pick([.cursor, .link, .keyset])
            behaviour.tail = random.pick([.emptyPage, .sameCursor])
        case .replicas:
            // Without a total, an answer of the outdated replica cannot be distinguished from a change.
            totals = seed % 5 == 4 ? .none : .exact
            // With the largest lag, the outdated replica answers until the events are cancelled.
            behaviour.replicaLag = random.pick([random.number(in: 4...40), 100, 10_000])
        case .uncounted: random.omitTotals(&self)
        case .feed: random.stretch(&self)
        case .firstContact, .sweeps: break
        case .rewritten:
            behaviour.hasAlikeIDs = random.isLikely(40)
            behaviour.shufflesMembers = !behaviour.hasAlikeIDs || random.isLikely(50)
            validators = .none
        case .echoing: break
        case .clocks: break
        }
        events = random.events(of: self)
    }

    /// Whether only an empty page shows the end of the list.
    fileprivate var endsWithEmptyPage: Bool { access != .chain && totals == .none && !saysHasMore }

    /// A number that selects the event of a plan of the kind `firstContact`. Consecutive seeds go through all events.
    fileprivate var slot: Int { Int((seed / 20 &+ seed % 20 &* 101) % 1_000_003) }
}

/// Draws the parts of a plan of a kind.
extension SeededGenerator {
    /// Draws the common base of the plans of most kinds.
    fileprivate mutating func plain(_ seed: UInt64, _ kind: OriginKind) -> OriginPlan {
        let style = pick([.offset, .offset, .page, .page, .cursor, .link, .keyset, .keyset] as [OriginPlan.Style])
        let pageSize = number(in: 3...10)
        let count = pageSize * number(in: 1...8) + number(below: pageSize + 1)
        var plan = OriginPlan(seed: seed, style: style, count: count, pageSize: pageSize)
        plan.kind = kind
        plan.largestPage = pick([pageSize, OriginPlan.noLargestPage])
        plan.totals = isLikely(60) ? .exact : .none
        plan.validators = pick(weighted: [(3, .none), (1, .pages), (1, .pagesAndTotal), (1, .totalOnNotModified)])
        plan.pastEnd = pick(OriginPlan.PastEnd.allCases)
        plan.saysHasMore = isLikely(30)
        return plan
    }

    fileprivate mutating func hide(in plan: inout OriginPlan) {
        plan.count = plan.pageSize * number(in: 2...8) + number(below: plan.pageSize)
        plan.behaviour.hiding =
            isLikely(60) ? .some(percent: number(in: 5...40)) : .groups(of: plan.pageSize, percent: number(in: 10...40))
        plan.behaviour.countsHidden = isLikely(50)
        plan.saysHasMore = isLikely(50)
        plan.largestPage = OriginPlan.noLargestPage
        // If only an empty page shows the end, no other page may be empty.
        if plan.endsWithEmptyPage { plan.behaviour.hiding = .some(percent: number(in: 5...40)) }
    }

    fileprivate mutating func enlarge(_ plan: inout OriginPlan) {
        plan.pageSize = number(in: 10...100)
        plan.largestPage = OriginPlan.noLargestPage
        plan.count = plan.pageSize * number(in: 3...12) + number(below: plan.pageSize)
    }

    fileprivate mutating func lengthen(_ plan: inout OriginPlan) {
        plan.pageSize = number(in: 2...3)
        plan.largestPage = plan.pageSize
        plan.count = plan.pageSize * number(in: 300...330) + number(below: plan.pageSize)
    }

    fileprivate mutating func stretch(_ plan: inout OriginPlan) {
        plan.pageSize = number(in: 5...20)
        plan.largestPage = plan.pageSize
        plan.count = plan.pageSize * number(in: 10...40)
    }

    fileprivate mutating func plant(_ plan: inout OriginPlan) {
        plan.count = number(in: 1...plan.pageSize - 1)
        plan.largestPage = OriginPlan.noLargestPage
    }

    fileprivate mutating func miscount(_ plan: inout OriginPlan) {
        switch number(below: 4) {
        case 0: plan.totals = .jittering(by: 1)
        case 1:
            // One page, fetched by a chain.
            plan.style = pick([.cursor, .link, .keyset])
            plan.count = number(in: 1...plan.pageSize)
            plan.totals = .tooHigh(by: number(in: 1...5))
        case 2: plan.totals = .tooLow(by: number(in: 1...10))
        default: plan.totals = .capped(number(in: 1...max(plan.count, 1)))
        }
    }

    fileprivate mutating func limitWindow(_ plan: inout OriginPlan) {
        let window = plan.pageSize * number(in: 2...5)
        plan.behaviour.window = window
        plan.behaviour.refusesBehindWindow = isLikely(50)
        plan.count = isLikely(20) ? number(in: 1...window) : window + number(in: 1...plan.pageSize * 8)
        plan.totals = isLikely(80) ? .exact : .none
        plan.saysHasMore = false
        plan.pastEnd = .emptyPage
    }

    fileprivate mutating func makeEndless(_ plan: inout OriginPlan) {
        plan.style = pick([.offset, .page, .page, .link, .cursor])
        plan.behaviour.beyond = pick([.lastPage, .start])
        plan.totals = isLikely(40) ? .exact : .none
    }

    fileprivate mutating func omitTotals(_ plan: inout OriginPlan) {
        plan.totals = .none
        plan.validators = pick([.pages, .pagesAndTotal])
    }

    // MARK: Events

    fileprivate mutating func events(of plan: OriginPlan) -> [OriginEvent] {
        switch plan.kind {
        case .ordinary, .sweeps: []
        case .firstContact: [firstEvent(plan)]
        case .feed:
            everySo(often: pick([5, 15, 40]), .insert(at: .start, count: 1))
        case .large:
            (0..<number(in: 13...30)).map { _ in .before(number(in: 2...14), .insert(at: anywhere(), count: 1)) }
                .sorted { $0.request < $1.request }
        case .long: few(plan, most: 3, before: 330)
        case .sprouting:
            [
                .before(number(in: 2...8), .append(count: plan.pageSize * number(in: 1...6))),
                .before(number(in: 9...20), .insert(at: .start, count: number(in: 1...plan.pageSize))),
            ]
        case .replicas:
            (0..<number(in: 1...6)).map { _ in .before(number(in: 1...40), change(of: plan)) }
                .sorted { $0.request < $1.request }
        case .uncounted:
            (0..<number(in: 1...4)).map { _ in .before(number(in: 1...40), .append(count: number(in: 1...8))) }
                .sorted { $0.request < $1.request }
        case .echoing:
            Set((0..<number(in: 1...3)).map { _ in number(in: 1...12) }).sorted().map { .on($0, .repeatedFirstItem) }
        case .clocks:
            Set((0..<number(in: 1...4)).map { _ in number(in: 1...30) }).sorted().map { request in
                .on(
                    request,
                    isLikely(60) ? .tooManyRequests(retryAfter: .seconds(3_600 * number(in: 1...30))) : .timeout)
            }
        case .hidden, .overlapping, .sizes, .miscounted, .window, .endless, .shuffled, .trailing, .rewritten:
            // Most of these plans have no event, so that only the behaviour has an effect.
            isLikely(60) || plan.kind == .hidden && plan.endsWithEmptyPage ? [] : few(plan, most: 5, before: 40)
        }
    }

    private func everySo(often step: Int, _ change: OriginChange) -> [OriginEvent] {
        stride(from: step, through: 400, by: step).map { .before($0, change) }
    }

    private mutating func few(_ plan: OriginPlan, most: Int, before last: Int) -> [OriginEvent] {
        (0..<number(in: 0...most)).map { _ in
            let request = number(in: 1...last)
            guard isLikely(25) else { return .before(request, change(of: plan)) }
            return .on(request, pick([.transport, .timeout, .internalError, .unavailable]))
        }.sorted { $0.request < $1.request }
    }

    private mutating func change(of plan: OriginPlan) -> OriginChange {
        if plan.kind == .hidden, isLikely(40) { return .hide(at: anywhere(), count: number(in: 1...3)) }
        return switch number(below: 100) {
        case ..<40: .insert(at: isLikely(40) ? .start : anywhere(), count: number(in: 1...3))
        case ..<65: .delete(at: anywhere(), count: number(in: 1...3))
        case ..<75: .move(from: anywhere(), to: anywhere())
        case ..<85: .edit(at: anywhere())
        default: .append(count: number(in: 1...3))
        }
    }

    private mutating func anywhere() -> OriginPlace { OriginPlace(fraction: UInt16(number(below: 1 << 16))) }

    /// Returns the one event of a first contact. Over all slots, each kind of event happens at each request of a load.
    private func firstEvent(_ plan: OriginPlan) -> OriginEvent {
        let kinds: [OriginEvent.Kind] = [
            .change(.insert(at: .start, count: 1)), .change(.insert(at: .middle, count: 1)),
            .change(.append(count: 1)), .change(.delete(at: .start, count: 1)),
            .change(.delete(at: .middle, count: 1)), .change(.delete(at: .end, count: 1)),
            .change(.move(from: .end, to: .start)), .change(.insert(at: .start, count: plan.pageSize)),
            .change(.delete(at: .start, count: plan.pageSize)), .fault(.transport), .fault(.timeout),
            .fault(.tooManyRequests(retryAfter: .seconds(1))), .fault(.internalError), .fault(.unavailable),
            .fault(.emptyAnswer), .fault(.shortPage), .fault(.cursorExpired(status: 410)), .fault(.repeatedFirstItem),
        ]
        let pages = plan.count / plan.pageSize + 4
        let (turn, number) = plan.slot.quotientAndRemainder(dividingBy: kinds.count)
        return OriginEvent(request: 1 + turn % pages, kinds[number])
    }
}
