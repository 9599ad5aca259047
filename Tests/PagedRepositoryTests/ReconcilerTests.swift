import PageModel
import PagedRepositoryTesting
import Testing

@testable import PagedRepository

/// An unchanging list at an origin, and a cached list. The trial answers the machine's requests and applies its
/// decision.
private struct Trial {
    var origin: [String]
    /// The cached names by position. `nil` marks a position that is not held.
    var cached: [String?]
    var size = 10
    var probe = 2
    var isGrid = false
    var hasTotals = true
    /// The total that the origin claims. `nil` means the correct total.
    var claimed: Int?
    /// A position at which the origin returned no items before page one was fetched. The length of the cached list is
    /// then unknown.
    var emptyFrom: Int?

    struct Result {
        var requests: Int
        var list: [String?] = []
        var action: Reconciler.Action
        var repair: RepairPlan?
    }

    private var segments: [Range<Int>] {
        var segments: [Range<Int>] = []
        for (position, name) in cached.enumerated() where name != nil {
            if let last = segments.last, last.upperBound == position {
                segments[segments.count - 1] = last.lowerBound..<position + 1
            } else {
                segments.append(position..<position + 1)
            }
        }
        return segments
    }

    private var total: ListTotal { hasTotals ? .exact(claimed ?? origin.count) : .unknown }

    private func observed(_ range: Range<Int>, _ positions: [String: Int]) -> ObservedPage {
        let range = min(range.lowerBound, origin.count)..<min(range.upperBound, origin.count)
        var places: [UInt64: ItemPlace] = [:]
        for name in origin[range] {
            guard let position = positions[name] else { continue }
            let identity = named([name]).identities[0]
            places[identity.key] = ItemPlace(position: position, content: identity.content)
        }
        let isEnd = range.isEmpty || (!hasTotals && emptyFrom == nil && range.upperBound == origin.count)
        return ObservedPage(offset: range.lowerBound, content: named(origin[range]), places: places, isEnd: isEnd)
    }

    func run() -> Result {
        let positions = Dictionary(
            cached.enumerated().compactMap { position, name in name.map { ($0, position) } },
            uniquingKeysWith: { first, _ in first })
        var machine = Reconciler(
            head: observed(0..<size, positions), total: total,
            cached: Reconciler.Cached(
                segments: segments, length: emptyFrom == nil ? cached.count : nil,
                pages: (cached.count { $0 != nil } + size - 1) / size),
            reach: Reconciler.Reach(pageSize: size, probeSize: probe, isGrid: isGrid, supportsRandomAccess: true),
            isSuspicious: emptyFrom != nil)
        if let emptyFrom {
            var nothing = ObservedPage(offset: emptyFrom, content: PageContent(), places: [:], isEnd: true)
            nothing.isWitnessed = true
            machine.learn(nothing, total: total)
        }
        for _ in 0..<10_000 {
            let action = machine.next()
            switch action {
            case .fetch(let ranges):
                for range in ranges {
                    let answer = observed(range, positions)
                    // An answer beyond the end is empty and keeps the requested position.
                    machine.learn(
                        answer.content.isEmpty
                            ? ObservedPage(offset: range.lowerBound, content: PageContent(), places: [:], isEnd: true)
                            : answer,
                        total: total)
                }
            case .commit(let repair):
                return Result(requests: machine.requests, list: apply(repair), action: action, repair: repair)
            case .replaced, .startOver:
                return Result(requests: machine.requests, action: action)
            }
        }
        fatalError("the machine never comes to an end")
    }

    private func apply(_ repair: RepairPlan) -> [String?] {
        var list: [String?] = []
        for piece in repair.rearrangement.pieces {
            switch piece {
            case .kept(let range):
                list += cached[min(range.lowerBound, cached.count)..<min(range.upperBound, cached.count)]
            case .written(let page, _): list += page.content.ids
            case .gap(let count): list += [String?](repeating: nil, count: count)
            }
        }
        for range in repair.markedStale {
            for position in range.clamped(to: 0..<list.count) { list[position] = nil }
        }
        return list
    }
}

@Suite("Reconciler")
struct ReconcilerTests {
    @Test(
        "Any change within page one or arrival at it costs one request (R17)", arguments: 0..<300 as Range<UInt64>)
    func head(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var trial = Trial(origin: names(0..<Int.random(in: 12...80, using: &random)), cached: [])
        trial.cached = trial.origin
        for change in 0..<Int.random(in: 1...3, using: &random) {
            switch Int.random(in: 0..<3, using: &random) {
            case 0: trial.origin.insert("n\(change)", at: Int.random(in: 0...3, using: &random))
            case 1: trial.origin.remove(at: Int.random(in: 0...3, using: &random))
            default:
                let item = trial.origin.remove(at: Int.random(in: 0..<trial.origin.count, using: &random))
                trial.origin.insert(item, at: Int.random(in: 0...3, using: &random))
            }
        }
        let result = trial.run()
        #expect(result.list == trial.origin, "seed \(seed)")
        // An item that moved to the head and was deleted there looks like an item deleted further down.
        guard Set(trial.cached.dropFirst(10)).isSubset(of: trial.origin) else { return }
        #expect(
            result.requests == 1,
            "seed \(seed): \(trial.origin.prefix(14)) of \(trial.origin.count), \(trial.cached.count)")
    }

    @Test(
        "One insert or delete anywhere in 10,000 pages is located exactly with at most 32 requests (R18)",
        arguments: [
            1, 3, 4, 5, 6, 123, 25_000, 33_333, 49_995, 49_999,
        ])
    func single(position: Int) {
        for isInsert in [true, false] {
            var trial = Trial(origin: names(0..<50_000), cached: names(0..<50_000), size: 5)
            if isInsert { trial.origin.insert("new", at: position) } else { trial.origin.remove(at: position) }
            let result = trial.run()
            #expect(result.requests <= 32, "\(position) \(isInsert)")
            #expect(result.list == trial.origin, "\(position) \(isInsert)")
        }
    }

    @Test(
        "After any change, the held items are the origin's items at the same positions, unless changes cancel each other",
        arguments: [true, false], 0..<400 as Range<UInt64>)
    func anywhere(isGrid: Bool, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var trial = Trial(origin: names(0..<Int.random(in: 30...600, using: &random)), cached: [], isGrid: isGrid)
        trial.hasTotals = Int.random(in: 0..<4, using: &random) > 0
        trial.cached = trial.origin
        // Only inserts or only deletes, so that their shifts never cancel each other.
        let inserts = Bool.random(using: &random)
        for change in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0..<trial.origin.count, using: &random)
            let count = Int.random(in: 1...15, using: &random)
            if inserts {
                trial.origin.insert(contentsOf: (0..<count).map { "n\(change)-\($0)" }, at: place)
            } else if trial.origin.count > 30 {
                trial.origin.removeSubrange(place..<min(place + count, trial.origin.count))
            }
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let start = Int.random(in: 0..<trial.cached.count, using: &random)
            for position in start..<min(start + 25, trial.cached.count) { trial.cached[position] = nil }
        }
        let result = trial.run()
        guard let repair = result.repair else { return }
        #expect(result.requests <= (trial.cached.count { $0 != nil } + 9) / 10 + 1, "seed \(seed)")
        for (position, name) in result.list.enumerated() {
            guard let name else { continue }
            #expect(
                position < trial.origin.count && trial.origin[position] == name,
                "seed \(seed), position \(position): \(repair.rearrangement.pieces)")
            if position >= trial.origin.count || trial.origin[position] != name { return }
        }
    }

    @Test(
        "A total that lags or is capped does not move the list, and its surplus becomes a gap at the end (R18)",
        arguments: [9, 40])
    func lyingTotal(more: Int) {
        var trial = Trial(origin: names(0..<200), cached: names(0..<200))
        trial.claimed = 200 + more
        let result = trial.run()
        #expect(Array(result.list.prefix(200)) == trial.origin)
        #expect(result.repair?.markedStale == [])
        #expect(result.requests <= 4)
    }

    @Test("Items beyond a total turn the total into an estimate, and no item is dropped (R20)")
    func lowTotal() {
        var trial = Trial(origin: names(0..<200), cached: names(0..<200))
        trial.claimed = 150
        let result = trial.run()
        #expect(Array(result.list.prefix(200)) == trial.origin)
        guard case .estimate = result.repair?.total else {
            Issue.record("\(String(describing: result.repair?.total))")
            return
        }
    }

    @Test(
        "An empty position where items are held reveals the deleted item, and no other item is dropped (R18, G6)",
        arguments: [
            12, 57, 103, 180, 197, 198,
        ])
    func nothingWhereSomethingIsHeld(position: Int) {
        var trial = Trial(
            origin: names(0..<199), cached: [], size: 9, probe: 9, isGrid: true, hasTotals: false, emptyFrom: 198)
        trial.cached = trial.origin
        trial.origin.remove(at: position)
        let result = trial.run()
        #expect(result.list == trial.origin)
        #expect(result.repair?.end == 198)
        // Page one, the empty position, the page before it, and the requests of the halving.
        #expect(result.requests <= 3 + 2 * 5 + 4, "\(result.requests)")
    }

    @Test("Empty answers in a bad minute do not end the list at page one (R20, G6)")
    func nothingInABadMinute() throws {
        let list = names(0..<34)
        let places = Dictionary(
            uniqueKeysWithValues: named(list).identities.enumerated().map {
                ($1.key, ItemPlace(position: $0, content: $1.content))
            })
        var machine = Reconciler(
            head: ObservedPage(offset: 0, content: named(list[1...5]), places: places, isEnd: false),
            total: .estimate(22),
            cached: Reconciler.Cached(segments: [0..<34], length: 34, pages: 7),
            reach: Reconciler.Reach(pageSize: 5, probeSize: 5, isGrid: true, supportsRandomAccess: true))
        while true {
            switch machine.next() {
            case .fetch(let questions):
                for question in questions {
                    let nothing = ObservedPage(
                        offset: question.lowerBound, content: PageContent(), places: [:], isEnd: true)
                    machine.learn(nothing, total: .exact(0))
                }
            case .commit(let repair):
                #expect(repair.end == nil)
                #expect(repair.rearrangement.pieces.last == .kept(6..<Int.max))
                return
            case let other:
                Issue.record("\(other)")
                return
            }
        }
    }

    @Test("A list without any known item is another list (R19)")
    func replaced() {
        let result = Trial(origin: (0..<300).map { "other\($0)" }, cached: names(0..<300)).run()
        #expect(result.action == .replaced)
        #expect(result.requests <= 5)
    }

    @Test("A block of new items larger than many pages is located, and its inside becomes a gap")
    func block() {
        var trial = Trial(origin: names(0..<2_000), cached: names(0..<2_000))
        trial.origin.insert(contentsOf: (0..<500).map { "n\($0)" }, at: 700)
        let result = trial.run()
        #expect(result.list.count == 2_500)
        #expect(Array(result.list.prefix(700)) == names(0..<700))
        #expect(Array(result.list.dropFirst(1_200)) == names(700..<2_000))
        #expect(result.requests < 60)
    }

    @Test("An answer with the held items of its positions in another order moves no other item (R18)")
    func reordered() {
        let origin = stride(from: 0, to: 24, by: 3).flatMap { Array(names($0..<$0 + 3).reversed()) }
        let trial = Trial(origin: origin, cached: names(0..<24), size: 3, probe: 3, isGrid: true, hasTotals: false)
        let result = trial.run()
        #expect(result.requests == 2, "page one, and the last page")
        #expect(result.list == Array(origin[..<3]) + names(3..<21) + Array(origin[21...]))
        #expect(result.repair?.markedStale == [])
    }

    @Test("Two contradicting answers mean that the list changed between them")
    func contradiction() {
        let trial = Trial(origin: names(0..<40), cached: names(0..<40))
        var machine = Reconciler(
            head: ObservedPage(offset: 0, content: named(["new"] + names(0..<9)), places: [:], isEnd: false),
            total: .exact(41),
            cached: Reconciler.Cached(segments: [0..<40], length: 40, pages: 4),
            reach: Reconciler.Reach(pageSize: 10, probeSize: 2, isGrid: false, supportsRandomAccess: true))
        machine.learn(ObservedPage(offset: 9, content: named(["other"]), places: [:], isEnd: false), total: .exact(41))
        #expect(machine.next() == .startOver)
        _ = trial
    }
}
