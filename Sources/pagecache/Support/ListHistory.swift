#if Tool
import PageModel

/// Something that happened to a list, as it is told to somebody who watches.
struct ListEvent: Hashable {
    enum Kind: Hashable {
        /// The query is new in the store.
        case registered
        /// Items are held here that were not, or are others now.
        case stored(Range<Int>)
        /// The origin confirmed what is held here (R6).
        case confirmed(Range<Int>)
        /// No longer held: a gap.
        case dropped(Range<Int>)
        /// Items came, went or moved, and positions with them (R17).
        case moved
        /// The list began a new generation.
        case replaced
        case total(Total)
        /// The origin said where the list ends (R24).
        case ended(Int)
        case failed(LedgerEntry)
        /// A page that failed is asked for again.
        case retried(LedgerEntry)
        /// A page that failed is there now.
        case recovered(Int)
        /// The query is gone.
        case purged
    }

    var kind: Kind
    /// Positions held and the list's length, as far as it is known, afterwards.
    var held: Int
    var length: Int?
    var version: ListVersion
}

/// What happened to a list between two looks at it. Notices from other processes say that something did, and not what
/// (R41); and of what came and went between two looks nothing is said.
enum ListHistory {
    /// - Parameters:
    ///   - old: nil when the list was not there.
    ///   - new: nil when it is gone.
    static func events(from old: ListOutline?, to new: ListOutline?) -> [ListEvent] {
        guard let new else {
            guard let old else { return [] }
            return [event(.purged, ListOutline(record: old.record, pages: [], ledger: [], readAt: old.readAt))]
        }
        var kinds: [ListEvent.Kind] = old == nil ? [.registered] : []
        let before =
            old ?? ListOutline(record: QueryRecord(unfetched: new.record), pages: [], ledger: [], readAt: new.readAt)
        let isNewLife = before.record.version.generation != new.record.version.generation
        let hasMoved = !isNewLife && before.record.version.revision != new.record.version.revision
        if isNewLife { kinds.append(.replaced) }
        if hasMoved { kinds.append(.moved) }
        kinds += pageKinds(before, new, samePlaces: !isNewLife && !hasMoved)
        kinds += ledgerKinds(before.ledger, new.ledger)
        if new.record.total != before.record.total { kinds.append(.total(new.record.total)) }
        if let end = new.record.end, end != before.record.end { kinds.append(.ended(end)) }
        return kinds.map { event($0, new) }
    }

    private static func event(_ kind: ListEvent.Kind, _ list: ListOutline) -> ListEvent {
        let isKnown = list.record.end != nil || list.record.total.count != nil
        return ListEvent(
            kind: kind, held: list.coverage.count, length: isKnown ? list.length : nil, version: list.record.version)
    }

    // MARK: Pages

    private struct Place: Hashable {
        var fingerprint: UInt64
        var count: Int
        /// Nil where positions moved in between: then a page is known by what is in it.
        var offset: Int?
    }

    private static func pageKinds(_ old: ListOutline, _ new: ListOutline, samePlaces: Bool) -> [ListEvent.Kind] {
        func place(_ page: PageSummary) -> Place {
            Place(fingerprint: page.fingerprint, count: page.count, offset: samePlaces ? page.offset : nil)
        }
        let known = Dictionary(old.heldPages.map { (place($0), $0.validatedAt) }, uniquingKeysWith: { max($0, $1) })
        var stored: [ListEvent.Kind] = []
        var confirmed: [Range<Int>] = []
        for page in new.heldPages where page.count > 0 {
            if let validatedAt = known[place(page)] {
                if page.validatedAt > validatedAt { confirmed.append(page.range) }
            } else {
                stored.append(.stored(page.range))
            }
        }
        var dropped: [Range<Int>] = []
        if samePlaces {
            let after = new.coverage
            dropped = old.coverage.runs.flatMap { after.gaps(in: $0) }
        }
        // A sweep or a "not modified" confirms page by page; what lies side by side is one thing to people.
        return stored + Coverage(confirmed).runs.map { .confirmed($0) } + dropped.map { .dropped($0) }
    }

    // MARK: The ledger

    private static func ledgerKinds(_ old: [LedgerEntry], _ new: [LedgerEntry]) -> [ListEvent.Kind] {
        let before = Dictionary(old.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        // Entries move with positions: one that is merely elsewhere has nothing new to say.
        let told = Set(old.filter(\.state.isFailure).map(Attempt.init))
        return new.compactMap { entry in
            let hadFailed = before[entry.offset]?.failure != nil
            return switch entry.state {
            case .failedRetryable, .failedPermanent: told.contains(Attempt(entry)) ? nil : .failed(entry)
            case .inFlight: hadFailed && before[entry.offset]?.state != .inFlight ? .retried(entry) : nil
            case .ok: hadFailed ? .recovered(entry.offset) : nil
            case .pending: nil
            }
        }
    }

    /// One attempt that failed.
    private struct Attempt: Hashable {
        var number: Int
        var at: Timestamp?
        var failure: FetchFailure?

        init(_ entry: LedgerEntry) {
            (number, at, failure) = (entry.attempts, entry.lastAttemptAt, entry.failure)
        }
    }
}

extension QueryRecord {
    /// The same query as it was when nothing had been fetched yet.
    fileprivate init(unfetched record: QueryRecord) {
        self = record
        (total, end, validatedAt) = (.unknown, nil, nil)
    }
}
#endif
