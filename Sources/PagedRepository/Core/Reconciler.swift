import PageModel

/// Finds out with few questions what changed in a list, and how the cached one is to be mended (R16–R18, R20).
///
/// Everything that is seen at the origin is looked up in the cached list. Items that stand in the same order in both
/// are anchors; between two anchors lies a *stretch*. A stretch whose length is the same in both, less what was seen to
/// have moved out of it, counts as unchanged (inferred). One that was seen whole is known. Any other is asked into: at
/// its edges where the cached list has gaps, else in the middle, until it is known or not worth another request.
///
/// ```
/// head ──▶ explained? ──yes──▶ commit
///             │ no
///             ▼
///            ask ◀──── surprise ───┐
///             │ all stretches known │
///             ▼                     │
///           audit ──────────────────┘──▶ commit
/// ```
/// Exits besides: `replaced`, when nothing that is seen is known; `startOver`, when two answers contradict each other.
struct Reconciler: Equatable {
    /// The cached list, as far as decisions need it.
    struct Cached: Equatable {
        /// The stretches that are held, ascending.
        var runs: [Range<Int>]
        /// Where the list ended; nil where nobody knew.
        var length: Int?
        /// What reading what is held again would cost.
        var pages: Int
    }

    /// How the origin can be asked.
    struct Reach: Equatable {
        /// Items of a full page.
        var pageSize: Int
        /// Items that are enough to recognise a place; a page's worth where the origin gives no less.
        var probeSize: Int
        /// Whether only multiples of the page size can be asked for.
        var isGrid: Bool
        /// Whether places can be asked for at all (R22).
        var isRandom: Bool
        /// Nothing is asked for behind this position: the end of the origin's result window.
        var window = Int.max
    }

    enum Action: Equatable {
        /// The origin's items at these positions are wanted.
        case ask([Range<Int>])
        case commit(Repair)
        /// R19: this is another list.
        case replaced
        /// The list changed between two answers.
        case startOver
    }

    /// So many answers without a single known item are proof enough.
    private static let triesWhenLost = 3

    let cached: Cached
    let reach: Reach
    /// The total that came with the head; an answer with another one means that the list has changed since.
    let total: Total
    /// In the order in which they came; the head is the first.
    private(set) var sightings: [Sighting]
    private(set) var requests = 1
    private var asked: Set<Range<Int>> = []
    private var isContradicted = false
    private var hasAsked = false
    private let isSuspicious: Bool
    private var isAudited = false
    /// Answers that showed the drift which led to this reconciliation.
    private var clues: [Range<Int>] = []

    /// - Parameter isSuspicious: whether something else has shown that the list is not as it is held: then what the
    ///   head explains is audited, too.
    init(head: Sighting, total: Total, cached: Cached, reach: Reach, isSuspicious: Bool = false) {
        self.isSuspicious = isSuspicious
        sightings = [head]
        self.total = total
        self.cached = cached
        self.reach = reach
    }

    /// R17: whether the head alone explains the list.
    var isExplained: Bool {
        var copy = self
        guard case .commit(let repair) = copy.next() else { return false }
        return repair.demoted.isEmpty
    }

    /// An answer to a question.
    mutating func learn(_ sighting: Sighting, total now: Total) {
        requests += 1
        if let now = now.exactCount, let then = total.exactCount, now != then { isContradicted = true }
        if sighting.repeatsItems { isContradicted = true }
        sightings.append(sighting)
    }

    /// An answer that showed that the list had moved, before page one was requested again (R21).
    mutating func learn(clue sighting: Sighting, total now: Total) {
        learn(sighting, total: now)
        if !sighting.content.isEmpty { clues.append(sighting.range) }
    }

    /// Whether page one explains the answers that showed the drift: each has an item where page one's shift puts it.
    private func explainsClues(_ map: ListMap) -> Bool {
        !clues.isEmpty && !map.hasShifts(behind: sightings[0].content.count)
            && clues.allSatisfy { clue in map.alignment.anchors.contains { clue.contains($0.origin) } }
    }

    mutating func next() -> Action {
        guard !isContradicted, let map = ListMap(sightings, cached: cached, total: total) else { return .startOver }
        let isLost = map.alignment.anchors.isEmpty
        if isLost, !reach.isRandom || requests > Reconciler.triesWhenLost || cached.runs.isEmpty { return .replaced }
        let unknown = map.stretches.filter(\.isUnknown)
        var questions: [Range<Int>] = []
        if !unknown.isEmpty {
            isAudited = false
            questions = unknown.flatMap { Inquiry.questions(about: $0, reach) }
            if questions.isEmpty, isLost { questions = Inquiry.middle(of: unknown, reach) }
        } else if !isAudited,
            (isSuspicious && !explainsClues(map)) || (hasAsked && map.hasShifts(behind: sightings[0].content.count))
        {
            isAudited = true
            questions = Inquiry.audit(map.stretches, pages: cached.pages, reach)
        }
        // Never more than reading it all again would cost.
        var once = asked
        questions = questions.filter { $0.upperBound <= reach.window && once.insert($0).inserted }
        questions = reach.isRandom ? Array(questions.prefix(max(0, cached.pages - requests))) : []
        guard questions.isEmpty else {
            hasAsked = true
            asked.formUnion(questions)
            return .ask(questions)
        }
        return isLost && !map.stretches.allSatisfy(\.holdsNothing)
            ? .replaced : .commit(Repair(map, sightings, hasAsked: hasAsked))
    }
}
