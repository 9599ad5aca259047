#if Tool
import PageModel

/// A change of a list, as `watch` reports it.
struct ListEvent: Hashable {
    enum Kind: Hashable {
        /// The query is new in the store.
        case registered
        /// These positions hold items that are new or different.
        case stored(Range<Int>)
        /// The items at these positions were validated: the origin has them unchanged (R6).
        case confirmed(Range<Int>)
        /// These positions are no longer held, and are a gap now.
        case dropped(Range<Int>)
        /// Items were inserted, deleted or moved, and positions have shifted (R17).
        case moved
        /// The list has a new generation.
        case replaced
        case total(ListTotal)
        /// The origin showed where the list ends (R24).
        case ended(Int)
        case failed(LedgerEntry)
        /// A page that had failed is fetched again.
        case retried(LedgerEntry)
        /// A page that had failed is stored now.
        case recovered(Int)
        /// The query was removed.
        case purged
    }

    var kind: Kind
    /// The number of held positions after the change, and the length of the list where it is known.
    var held: Int
    var length: Int?
    var version: ListVersion
}

/// Derives the changes of a list from two outlines. Notices from other processes name the list only, and not the change
/// (R41). A state that begins and ends between the two outlines is not reported.
enum ListHistory {
    /// - Parameters:
    ///   - old: the earlier outline. `nil` means that the list did not exist.
    ///   - new: the later outline. `nil` means that the list was removed.
    static func events(from old: ListOutline?, to new: ListOutline?) -> [ListEvent] {
        guard let new else {
            guard let old else { return [] }
            return [event(.purged, ListOutline(record: old.record, pages: [], ledger: [], readAt: old.readAt))]
        }
        var kinds: [ListEvent.Kind] = old == nil ? [.registered] : []
        let before =
            old ?? ListOutline(record: QueryRecord(unfetched: new.record), pages: [], ledger: [], readAt: new.readAt)
        let isNewLife = before.record.version.generation != new.record.version.generation
        // A revision can rise although each item stayed in its place, as after a truncation that removed no item.
        let hasMoved =
            !isNewLife && before.record.version.revision != new.record.version.revision
            && !Set(before.heldPages.map(Place.init)).isSubset(of: new.heldPages.map(Place.init))
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
        /// `nil` when positions have shifted in between. The page is then recognised by its content.
        var offset: Int?

        init(_ page: PageSummary) {
            (fingerprint, count, offset) = (page.fingerprint, page.count, page.offset)
        }
    }

    private static func pageKinds(_ old: ListOutline, _ new: ListOutline, samePlaces: Bool) -> [ListEvent.Kind] {
        func place(_ page: PageSummary) -> Place {
            var place = Place(page)
            if !samePlaces { place.offset = nil }
            return place
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
            dropped = old.coverage.segments.flatMap { after.gaps(in: $0) }
        }
        // A sweep or a 304 validates page by page. Adjacent pages become one event.
        return stored + Coverage(confirmed).segments.map { .confirmed($0) } + dropped.map { .dropped($0) }
    }

    // MARK: The ledger

    private static func ledgerKinds(_ old: [LedgerEntry], _ new: [LedgerEntry]) -> [ListEvent.Kind] {
        let before = Dictionary(old.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        // Entries move with their positions. A moved entry without a new attempt is not reported again.
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

    /// One failed attempt.
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
    /// The same query in its state before the first fetch.
    fileprivate init(unfetched record: QueryRecord) {
        self = record
        (total, end, validatedAt) = (.unknown, nil, nil)
    }
}
#endif
