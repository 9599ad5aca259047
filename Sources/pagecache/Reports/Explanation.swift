#if Tool
import HTTPPageSource
import PageModel

/// Sentences for people that explain the state of a list, or of a position in it, and the next steps. They depend only
/// on the outline, the policy and a time.
struct Explanation: Equatable {
    /// The topic of a sentence. The raw values appear in the JSON of the tool.
    enum Topic: String {
        /// Held and missing positions.
        case holding
        /// The age of the list.
        case freshness
        /// Failures, with their causes.
        case failure
        /// Fetches that are under way.
        case fetching
        /// Order that is assumed and not proven.
        case evidence
        /// The next steps: their time, and the command or service that takes them.
        case next
    }

    struct Sentence: Equatable {
        var topic: Topic
        var text: String

        /// The word for the state in the text, and its colour (`Colour`). `nil` means that the text contains no such
        /// word.
        var state: (text: String, colour: Int)? {
            let words: [(String, Int)] =
                switch topic {
                case .freshness:
                    [
                        ("expired", Colour.failing), ("is stale", Colour.stale), ("counts as stale", Colour.stale),
                        ("is fresh", Colour.fresh),
                    ]
                case .failure: [("fails", Colour.failing), ("fail", Colour.failing)]
                case .holding: [("missing", Colour.stale)]
                case .fetching, .evidence, .next: []
                }
            return words.first { text.contains($0.0) }.map { ($0.0, $0.1) }
        }
    }

    private(set) var sentences: [Sentence] = []

    let list: ListOutline
    let policy: FreshnessPolicy
    let now: Timestamp

    /// Explains a list as a whole.
    init(of list: ListOutline, policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) {
        (self.list, self.policy, self.now) = (list, policy, now)
        addHolding()
        if let validatedAt = list.record.validatedAt {
            if list.holdsNothing, policy.freshness(of: list.record, now: now) == .fresh {
                add(
                    .freshness,
                    """
                    The list is stale: page one was validated \(TimeText.age(now - validatedAt)) ago, but no item is held \
                    any more.
                    """)
            } else {
                add(.freshness, freshness("page one", "The list", validatedAt))
            }
            addInvalidated()
            addOldestPage(besides: validatedAt)
        }
        addFailures(list.failures)
        addFetching(list.ledger.filter { $0.state == .inFlight })
        addEvidence()
        addNext()
    }

    /// Explains one position.
    init(of list: ListOutline, at position: Int, policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) {
        (self.list, self.policy, self.now) = (list, policy, now)
        addPosition(position)
    }

    mutating func add(_ topic: Topic, _ text: String) { sentences.append(Sentence(topic: topic, text: text)) }

    /// The short id of the list, for use in commands.
    var id: String { list.record.key.shortID }
    /// The command that fetches the list.
    var sync: String { list.record.syncCommand }

    // MARK: Holdings

    private mutating func addHolding() {
        let record = list.record
        let held = list.coverage.count
        let old = list.pages.filter { $0.generation < record.version.generation }.reduce(0) { $0 + $1.count }
        if record.validatedAt == nil, list.pages.isEmpty {
            add(.holding, "The list was never fetched.")
        } else if list.isComplete, let reason = record.unprovenText {
            add(.holding, "\(SizeText.count(held, "item is", "items are")) held, and the list is unproven: \(reason).")
        } else if list.isComplete {
            switch held {
            case 0: add(.holding, "The list was fetched, and is empty.")
            case 1: add(.holding, "The only item is held.")
            default: add(.holding, "All \(SizeText.count(held)) items are held.")
            }
        } else if list.isAtResultWindow, let window = record.windowText {
            let items = held == 1 ? "The only item" : "All \(SizeText.count(held)) items"
            add(.holding, "\(items) that the origin returns \(held == 1 ? "is" : "are") held: \(window).")
        } else if record.end == nil, record.total.count == nil {
            let end = record.isOnePage ? record.nextStep : "the length of the list is not known yet"
            add(.holding, "\(SizeText.count(held, "item is", "items are")) held; \(end).")
        } else {
            add(.holding, "\(SizeText.count(held)) of \(SizeText.count(list.length)) items are held; \(missing)")
        }
        if old > 0 {
            add(
                .holding,
                """
                \(SizeText.count(old, "item", "items")) from before the list was replaced \(old == 1 ? "is" : "are") still \
                readable; fetched pages replace \(old == 1 ? "it" : "them").
                """)
        }
        if case .estimate(let total) = record.total {
            add(
                .holding,
                "The origin's total, \(SizeText.count(total)), is an estimate: an answer contradicted it, or the origin calls it one."
            )
        }
        if record.allowsDuplicates {
            add(
                .holding,
                "Ids repeat in this list, so its pages cannot be compared. When page one changes, sync fetches the whole list again."
            )
        }
    }

    private var missing: String {
        let gaps = list.gaps
        guard let first = gaps.first else { return "the end of the list is not certain." }
        let ranges = gaps.prefix(3).map(Explanation.positions).joined(separator: ", ")
        return gaps.count == 1 && first.count == 1
            ? "position \(ranges) is missing." : "the positions \(ranges)\(gaps.count > 3 ? ", …" : "") are missing."
    }

    private mutating func addEvidence() {
        let chained = list.chainedSeams
        if chained > 0 {
            add(
                .evidence,
                """
                \(chained == 1 ? "1 page follows" : "\(SizeText.count(chained)) pages follow") the page before by a link or \
                cursor of the origin. No answer contains the end of one page and the start of the next, so a sweep cannot \
                check their order.
                """)
        }
        let seams = list.inferredSeams - chained
        guard seams > 0 else { return }
        if list.record.paging == HTTPSourceConfiguration.Paging.page.rawValue {
            return add(
                .evidence,
                """
                Pages by number do not overlap, so no answer shows that two of them follow each other. \
                '\(sync) --sweep' fetches each page again.
                """)
        }
        add(
            .evidence,
            """
            \(SizeText.count(seams, "seam", "seams")) between pages \(seams == 1 ? "is" : "are") inferred, not verified; \
            nothing is known to be wrong. '\(sync) --sweep' verifies \(seams == 1 ? "it" : "them").
            """)
    }

    // MARK: Next steps

    private mutating func addNext() {
        if list.record.isDescriptionLost { return addLost() }
        addSweep()
        let stale = list.judgedFreshness(policy, now: now).map { $0 != .fresh } ?? true
        let headFails = list.failures.contains { $0.offset == 0 }
        switch (list.record.isPinned, stale) {
        case (true, true) where !headFails:
            add(.next, "The list is pinned: the next '\(due)' or a running service refreshes it.")
        case (true, false):
            let moment = (list.record.validatedAt ?? now) + policy.staleAfter(list.record)
            add(
                .next,
                "The list is pinned: from \(TimeText.rfc3339(moment)) on, '\(due)' or a running service refreshes it."
            )
        case (false, true) where !headFails:
            add(.next, "The list is not pinned, so nothing refreshes it automatically; '\(sync)' does.")
        case (true, true), (false, true):
            // The next attempt for page one was reported with its failure.
            break
        case (false, false):
            let advisesSweep = sentences.contains { $0.text.contains("--sweep") }
            if list.isComplete || list.isAtResultWindow, list.failures.isEmpty, !advisesSweep {
                add(.next, "No action is needed.")
            }
        }
        let failing = Set(list.failures.map(\.offset))
        let untried = list.coverage.gaps(below: list.reachableLength).filter { gap in
            !failing.contains { gap.contains($0) }
        }
        if list.record.validatedAt != nil, let first = untried.first {
            // A run without paging fetches page one, and no page after it.
            if list.record.paging == HTTPSourceConfiguration.Paging.none.rawValue, first.lowerBound > 0 {
                return add(
                    .next,
                    "No way to the missing pages is known. Name it: '\(sync) --paging STYLE' (or --next).")
            }
            add(
                .next,
                list.record.isPinned
                    ? "The next 'pagecache sync --due', or a running service, fetches the missing pages that are not failing."
                    : "The next '\(sync)' fetches the missing pages that are not failing.")
        } else if list.record.validatedAt != nil, list.record.hasUnknownEnd, !list.record.isOnePage, failing.isEmpty {
            let next = list.record.isPinned ? "'pagecache sync --due', or a running service," : "'\(sync)'"
            add(.next, "The next \(next) requests the pages that follow.")
        }
    }

    /// Reports that a repair has rebuilt the record of the list. Neither `sync --all` nor a service fetches such a list
    /// (R45).
    mutating func addLost() {
        add(
            .next,
            """
            A repair could not restore the paging profile and the credential check, so neither \
            'pagecache sync --all' nor a service fetches the list. '\(sync)' does, with the credential if the origin needs one.
            """)
    }

    /// Reports an interrupted sweep. `sync --due` continues it once page one and the page where it stopped are due (R33).
    private mutating func addSweep() {
        guard let sweep = list.record.sweep else { return }
        let done = """
            A sweep that began \(TimeText.age(now - sweep.startedAt)) ago has verified everything before position \
            \(SizeText.count(sweep.position));
            """
        var moments: [Timestamp] = []
        if let validatedAt = list.record.validatedAt, policy.freshness(of: list.record, now: now) == .fresh {
            moments.append(validatedAt + policy.staleAfter(list.record))
        }
        for failure in list.failures where failure.offset == 0 || failure.offset == sweep.position {
            guard let next = failure.nextAttemptAt else {
                return add(.next, "\(done) '\(sync) --sweep' continues from there.")
            }
            moments.append(next)
        }
        guard let moment = moments.max(), moment > now else {
            return add(.next, "\(done) the next '\(due)' continues from there.")
        }
        add(
            .next,
            """
            \(done) '\(sync) --sweep' continues from there, and so does '\(due)' from \
            \(TimeText.rfc3339(moment)) on.
            """)
    }

    // MARK: Words

    /// The command for all due work, with the same age limit as this explanation.
    private var due: String {
        guard policy.originLifetime == .ignored else { return "pagecache sync --due" }
        let age = policy.staleAfter.wholeMilliseconds
        return "pagecache sync --due --stale-after \(age % 1_000 == 0 ? "\(age / 1_000)s" : "\(age)ms")"
    }

    /// `300`, or `300–399`.
    static func positions(_ range: Range<Int>) -> String {
        range.count == 1
            ? SizeText.count(range.lowerBound)
            : "\(SizeText.count(range.lowerBound))–\(SizeText.count(range.upperBound - 1))"
    }
}
#endif
