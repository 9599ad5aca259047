import PageModel

/// Finds out with few requests what changed in a list, and how to repair the cached one (R16–R18, R20).
///
/// Each item seen at the origin is looked up in the cached list. Items with the same order in both lists are anchors. A
/// *stretch* is the positions between two anchors. It counts as unchanged (inferred) when its length is the same in
/// both lists, less the items seen to have moved out of it. A stretch that was seen completely is known. In any other
/// stretch, positions are requested: at its edges where the cached list has gaps, otherwise in the middle. This
/// continues until the stretch is known, or not worth another request.
///
/// ```
/// head ──▶ explained? ──yes──▶ commit
///             │ no
///             ▼
///           fetch ◀────── drift ────┐
///             │ all stretches known │
///             ▼                     │
///           audit ──────────────────┘──▶ commit
/// ```
/// There are two other exits: `replaced` when no seen item is known, and `startOver` when two answers contradict each
/// other.
struct Reconciler: Equatable {
    /// The facts about the cached list that decide the actions.
    struct Cached: Equatable {
        /// The held segments, ascending.
        var segments: [Range<Int>]
        /// The end of the cached list. `nil` means unknown.
        var length: Int?
        /// The number of pages needed to read all held items again.
        var pages: Int
    }

    /// How the origin can be requested.
    struct Reach: Equatable {
        /// The number of items of a full page.
        var pageSize: Int
        /// The number of items that suffice to recognise a position. A full page if the origin has no smaller requests.
        var probeSize: Int
        /// Whether only multiples of the page size can be requested.
        var isGrid: Bool
        /// Whether positions can be requested at all (R22).
        var supportsRandomAccess: Bool
        /// The end of the origin's result window. No position after it is requested.
        var window = Int.max
    }

    enum Action: Equatable {
        /// Request the origin's items at these positions.
        case fetch([Range<Int>])
        case commit(RepairPlan)
        /// The origin has another list (R19).
        case replaced
        /// The list changed between two answers.
        case startOver
    }

    /// After this many answers without a known item, besides page one, the list counts as replaced.
    private static let triesWhenLost = 3

    let cached: Cached
    let reach: Reach
    /// The total that came with page one. An answer with another total shows that the list has changed since.
    let total: ListTotal
    /// All answers in order of arrival, page one first.
    private(set) var observedPages: [ObservedPage]
    private(set) var requests = 1
    private var requested: Set<Range<Int>> = []
    private var isContradicted = false
    private var hasProbed = false
    private let isSuspicious: Bool
    private var isAudited = false
    /// The lowest position of a probe without an answer. No probe is sent at that position or after it.
    private var unansweredFrom = Int.max
    /// Answers that showed the drift which led to this reconciliation.
    private var driftRanges: [Range<Int>] = []

    /// - Parameters:
    ///   - head: page one.
    ///   - total: the total that came with page one.
    ///   - cached: the facts about the cached list.
    ///   - reach: how the origin can be requested.
    ///   - isSuspicious: whether other evidence shows that the cached list is wrong. The audit then runs even if page
    ///     one explains the list, unless page one also explains this evidence. Defaults to false.
    init(head: ObservedPage, total: ListTotal, cached: Cached, reach: Reach, isSuspicious: Bool = false) {
        self.isSuspicious = isSuspicious
        observedPages = [head]
        self.total = total
        self.cached = cached
        self.reach = reach
    }

    /// Whether page one alone explains the list (R17).
    var isExplained: Bool {
        var copy = self
        guard case .commit(let repair) = copy.next() else { return false }
        return repair.markedStale.isEmpty
    }

    /// Adds the answer to a request.
    mutating func learn(_ observed: ObservedPage, total now: ListTotal) {
        requests += 1
        if let now = now.exactCount, let then = total.exactCount, now != then { isContradicted = true }
        if observed.repeatsItems { isContradicted = true }
        guard total.exactCount == nil, now.exactCount == nil,
            let last = observedPages.indices.dropFirst().first(where: { observedPages[$0].isLastPageAgain(observed) })
        else { return observedPages.append(observed) }
        // The origin returns its last page for each later position (R24).
        if observed.offset < observedPages[last].offset { observedPages[last] = observed }
        observedPages[last].isEnd = true
    }

    /// Records that a request had no answer. Positions that only this answer could explain stay unknown.
    mutating func lacksAnswer(to range: Range<Int>) {
        requests += 1
        unansweredFrom = min(unansweredFrom, range.lowerBound)
    }

    /// Adds an answer that showed the list moving before page one was requested again (R21).
    mutating func learn(drift observed: ObservedPage, total now: ListTotal) {
        learn(observed, total: now)
        if !observed.content.isEmpty { driftRanges.append(observed.range) }
    }

    /// Whether page one explains the answers that showed the drift: each answer has an item at the position that the
    /// shift of page one predicts.
    private func explainsDrift(_ map: ListAlignment) -> Bool {
        !driftRanges.isEmpty && !map.hasShifts(behind: observedPages[0].content.count)
            && driftRanges.allSatisfy { range in map.alignment.anchors.contains { range.contains($0.origin) } }
    }

    mutating func next() -> Action {
        guard !isContradicted, let map = ListAlignment(observedPages, cached: cached, total: total) else {
            return .startOver
        }
        let isLost = map.alignment.anchors.isEmpty
        if isLost, !reach.supportsRandomAccess || requests > Reconciler.triesWhenLost || cached.segments.isEmpty {
            return .replaced
        }
        let unknown = map.stretches.filter(\.isUnknown)
        var probes: [Range<Int>] = []
        if !unknown.isEmpty {
            isAudited = false
            probes = unknown.flatMap { ProbePlanner.probes(about: $0, reach) }
            if probes.isEmpty, isLost { probes = ProbePlanner.middle(of: unknown, reach) }
        } else if !isAudited,
            (isSuspicious && !explainsDrift(map))
                || (hasProbed && map.hasShifts(behind: observedPages[0].content.count))
        {
            isAudited = true
            probes = ProbePlanner.audit(map.stretches, pages: cached.pages, reach)
        }
        if total.exactCount == nil, reach.supportsRandomAccess {
            probes = observedPages.dropFirst().compactMap { $0.earlierPlace(reach) } + probes
        }
        // The reconciliation never sends more requests than reading the whole list would take.
        var once = requested
        probes = probes.filter {
            $0.upperBound <= reach.window && $0.lowerBound < unansweredFrom && once.insert($0).inserted
        }
        probes = reach.supportsRandomAccess ? Array(probes.prefix(max(0, cached.pages - requests))) : []
        guard probes.isEmpty else {
            hasProbed = true
            requested.formUnion(probes)
            return .fetch(probes)
        }
        return isLost && !map.stretches.allSatisfy(\.holdsNothing)
            ? .replaced : .commit(RepairPlan(map, observedPages, hasProbed: hasProbed))
    }
}
