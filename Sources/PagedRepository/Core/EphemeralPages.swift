import PageModel

/// Pages that the origin forbids storing (RFC 9111, 5.2.2.5: `no-store`), and the request for the next one. Pure logic,
/// without I/O.
///
/// The pages follow the first `start` stored items, or form the list from its first item on. They exist in memory only,
/// as long as the list is in use. This type keeps no payload. It keeps the ids, keys and content hashes of the items
/// and of the last stored items, so that no item appears twice (R5).
struct EphemeralPages: Equatable {
    /// The result of adding an answer.
    enum Step: Equatable {
        case newItems(PageContent)
        /// The answer does not fit the pages before it: the list has changed. Nothing was added.
        case moved(EphemeralMismatch)
        /// The answer cannot be used. A retry requests the same page (R37).
        case failed(FetchFailure)
    }

    /// The number of stored items before these pages. 0 means that page one is one of these pages.
    let start: Int
    private(set) var count = 0
    /// The number of answers with new items.
    private(set) var pages = 0
    private(set) var total = ListTotal.unknown
    /// The request for the next page. `nil` before the first answer, at the end of the list, and if the origin has only
    /// page one.
    private(set) var next: PageRequest.Target?
    /// Whether the origin has only page one, although this page announces more items.
    private(set) var isCutShort = false
    private let access: PagingAccess
    private let loopGuard: Int
    private let emptyPageLimit: Int
    /// The number of held items to request again with a page, while no exact total can show a change of the list.
    private var overlap: Int
    /// The number of items that each request asks for. If page one has more items than this, a full page counts as
    /// having `requested` items. `nil` while unknown.
    private let requested: Int?
    /// The answers that do not count as changes of the list.
    let tolerated: ToleratedMismatches
    /// Whether the end of the stored list before these pages is known. The first answer is then compared with it.
    private let hasStoredEnd: Bool
    /// The position at the origin where the next answer begins, without the items that are requested again.
    private(set) var position: Int
    /// The refused position whose request began with held items. The present request replaces that request. `nil` if
    /// none was refused since the last page.
    private var replaced: Int?
    /// The number of items of a page that is not the last. `nil` while unknown.
    private(set) var fullPage: Int?
    /// The number of items of the last answer that had any.
    private var lastPage = 0
    /// Whether ids repeat in this list. Its items are then compared by their content (R25).
    private(set) var allowsDuplicates = false
    /// The content hash of each held item, by its id, to leave out items that arrive again. The ids are bytes: two
    /// encodings of one letter are two ids (R5). Empty in a list that repeats ids.
    private(set) var ids: [[UInt8]: UInt64] = [:]
    /// The keys of the held items, in order. In a list that repeats ids, their content hashes.
    private(set) var keys: [UInt64] = []
    /// The content hashes of the held items, in order.
    private var contents: [UInt64] = []
    private var answers = 0
    /// The number of consecutive answers without a new item.
    private(set) var withoutNewItems = 0
    /// The fingerprint of the last answer, if it had no new item. `nil` otherwise.
    private var knownPage: UInt64?
    /// The number of items that inserts have pushed into later pages. The list shows the inserted items after the next
    /// refresh.
    private var pushed = 0

    /// - Parameters:
    ///   - start: the number of stored items before these pages.
    ///   - access: how the origin's pages can be requested.
    ///   - loopGuard: the number of consecutive answers with known items only that count as a loop.
    ///   - emptyPageLimit: the number of consecutive answers without items that count as a loop. Defaults to 1,000.
    ///   - overlap: the number of held items to request again with a page. Defaults to 0.
    ///   - requested: the number of items that each request asks for. `nil` means that the number is not known.
    ///     Defaults to nil.
    ///   - tolerated: the answers that do not count as changes of the list. Defaults to none.
    ///   - stored: the end of the stored list before these pages. `nil` means that it is not known. Defaults to nil.
    init(
        behind start: Int, access: PagingAccess, loopGuard: Int, emptyPageLimit: Int = 1_000, overlap: Int = 0,
        requested: Int? = nil, tolerated: ToleratedMismatches = ToleratedMismatches(), stored: StoredEnd? = nil
    ) {
        self.start = start
        self.access = access
        self.loopGuard = loopGuard
        self.emptyPageLimit = emptyPageLimit
        self.overlap = overlap
        self.requested = requested
        self.tolerated = tolerated
        hasStoredEnd = stored != nil
        position = start
        if case .grid(let size) = access { fullPage = max(1, min(size, requested ?? size)) }
        guard let stored else { return }
        (total, allowsDuplicates) = (stored.total, stored.allowsDuplicates)
        hold(stored.last)
    }

    /// The maximum number of answers without new items that one call for the next page receives.
    static let mostEmptyAnswers = 5

    /// Whether the list ends with these pages.
    var isAtEnd: Bool { answers > 0 && next == nil && !isCutShort }

    /// The position after these pages, in the list as it is shown.
    var end: Int { start + count }

    /// Whether the page whose first item is at `offset` continues these pages, possibly after known items.
    func isFollowed(by page: FetchedPage, at offset: Int) -> Bool {
        offset <= position && position <= offset + page.content.count
    }

    /// Adds an answer whose first item is at `offset`. `nil` means the requested position.
    mutating func take(_ page: FetchedPage, at offset: Int? = nil) -> Step {
        if let failure = EndOfList.contradiction(in: page, access: access) { return .failed(failure) }
        var page = page
        if case .cursor(let asked) = next, page.next == asked {
            // An empty page that names itself as the next one is the end of the chain (R24).
            if page.content.isEmpty { page.next = nil }
            if page.next != nil, page.hasMore != false {
                return .failed(
                    FetchFailure(.loop, "the next page that the origin names is the same page", isRetryable: false))
            }
        }
        let mismatch = EphemeralMismatch(place: end, content: page.content.fingerprint, total: page.total)
        let isHabit = tolerated.contains(mismatch)
        if !allowsDuplicates, repeatsIDs(page.content, isConfirmed: tolerated.known.contains(mismatch)) {
            (allowsDuplicates, ids, keys) = (true, [:], contents)
        }
        let arrival = Arrival(page, asked: asked(offset), in: self)
        if isCompared, arrival.isMismatch(after: total, access), !isHabit, !tolerated.allows(arrival) {
            return .moved(mismatch)
        }
        if let cut = arrival.end { page.content = page.content.slice(0..<cut) }
        return add(page, arrival, isHabit ? nil : mismatch)
    }

    /// Adds the refusal of the requested position. The list ends before that position, unless the total counts it
    /// (R24). Some origins accept only multiples of the page size as offsets, and others refuse a page that extends
    /// beyond their last one. So a refused request that began with held items is first replaced by one at the multiple
    /// before it (R21).
    mutating func refused(_ answer: PageAnswer) -> Step {
        if isRepeating, replaced == nil, case .offset(let offset) = next, let size = fullPage, size > 0 {
            let aligned = position / size * size
            if aligned != offset {
                replaced = offset
                next = .offset(aligned)
                return .newItems(PageContent())
            }
        }
        let mismatch = EphemeralMismatch(place: end, content: 0, total: .unknown)
        let isCounted = counted(from: position) < total.exactCount ?? 0
        // The list may have lost items since the total arrived, or may have lost the items that were requested again.
        let isOpen = isRepeating || replaced != nil || isCounted && start == 0
        if isOpen, !tolerated.contains(mismatch) { return .moved(mismatch) }
        if isCounted { return .failed(.refused(by: answer)) }
        next = nil
        return .newItems(PageContent())
    }

    /// Whether items are known that the next answer must fit.
    private var isCompared: Bool { answers > 0 || hasStoredEnd }

    /// Whether the next request begins with held items.
    private var isRepeating: Bool { if case .offset(let offset) = next { offset < position } else { false } }

    /// Returns the position of the first item of an answer.
    private func asked(_ offset: Int?) -> Int {
        if let offset { return offset }
        if case .offset(let offset) = next { return offset }
        return position
    }

    private mutating func add(_ page: FetchedPage, _ arrival: Arrival, _ mismatch: EphemeralMismatch?) -> Step {
        // The items before the first of these pages are stored, and this type does not know most of their ids.
        let repeated = mismatch == nil ? repeated(in: arrival, page) : arrival.repeated
        let skipped = answers == 0 ? max(repeated, arrival.expected) : repeated
        let newItems = newIndices(of: page.content, from: skipped)
        let isGrowing = mismatch != nil && tolerated.allows(arrival)
        let begin = arrival.isClamped ? position - arrival.repeated : arrival.asked
        // A short page one proves nothing about the page size.
        let full = answers == 0 && start == 0 ? nil : fullPage
        let ending = EndOfList.decide(page, at: counted(from: begin), full: full, access: access)
        var hasEnded = ending != .more
        var isRepetition = newItems.isEmpty && arrival.isRepetition && page.hasMore != false
        if newItems.isEmpty, !hasEnded, !page.content.isEmpty, access.supportsRandomAccess, page.hasMore != true,
            !isGrowing || knownPage == page.content.fingerprint
        {
            // After the end, some origins return their last or their first page again (R24). In a list that grows, a
            // page of known items may be one that inserts have moved, and the same page again proves nothing.
            guard pages > 1, !isGrowing else {
                return .failed(
                    FetchFailure(
                        .loop, "the origin returns the same items for different positions", isRetryable: false))
            }
            (hasEnded, isRepetition) = (true, true)
        }
        // Endless pages without a new item are a loop (R24).
        let limit = page.content.isEmpty ? emptyPageLimit : loopGuard
        if newItems.isEmpty, !hasEnded, access != .single, withoutNewItems + 1 >= limit {
            return .failed(
                FetchFailure(.loop, "\(withoutNewItems + 1) consecutive pages had no new items", isRetryable: false))
        }
        // The items that inserts have moved into this answer are counted here, and are not shown before the next
        // refresh.
        let moved = arrival.isClamped ? 0 : max(0, repeated - arrival.expected)
        let known = page.total == .unknown ? total : page.total
        let reached = end + newItems.count
        var isMiscounted = false
        if hasEnded, reached > 0, let exact = known.exactCount, exact > reached {
            // The origin counts items that it has not returned. A second walk shows whether the list has changed.
            let isCutOff =
                page.content.isEmpty && page.hasMore == nil && access.supportsRandomAccess
                && EndOfList.isCutOff(at: position, total: exact, size: fullPage ?? 1, lastPage: lastPage)
            if isCompared, let mismatch, pushed + moved + reached < exact, start == 0 || !isCutOff {
                return .moved(mismatch)
            }
            if isCutOff { return .failed(.cutOff(at: reached, exact)) }
            // A second walk has received held items again, at a position before the exact total (R24).
            if isRepetition, mismatch == nil, position < exact {
                return .failed(
                    FetchFailure(
                        .loop, "the origin returns the same items for another position", isRetryable: false))
            }
            isMiscounted = true
        }
        withoutNewItems = newItems.isEmpty ? withoutNewItems + 1 : 0
        knownPage = newItems.isEmpty ? page.content.fingerprint : nil
        pushed += moved
        position = place(behind: page.content.count, at: begin)
        if page.content.isEmpty, !hasEnded, access.supportsRandomAccess { position += step }
        if !page.content.isEmpty {
            (fullPage, lastPage) = (fullPage ?? min(page.content.count, requested ?? .max), page.content.count)
        }
        total = isMiscounted ? .estimate(known.count ?? 0) : known
        var content = PageContent()
        for index in newItems { content.append(contentsOf: page.content.slice(index..<index + 1)) }
        hold(content)
        count += content.count
        if !content.isEmpty { pages += 1 }
        answers += 1
        // Once the origin has refused an offset between two pages and answered a later multiple, no page overlaps.
        if let refused = replaced, arrival.asked > refused, !page.content.isEmpty { overlap = 0 }
        replaced = nil
        next = hasEnded ? nil : target(after: page)
        isCutShort = access == .single && !hasEnded
        return .newItems(content)
    }

    /// Keeps the ids and content hashes of these items for the comparison with later answers.
    private mutating func hold(_ content: PageContent) {
        keys += comparedKeys(of: content)
        for (index, identity) in content.identities.enumerated() {
            contents.append(identity.content)
            if !allowsDuplicates, let id = content.ids.bytes(at: index) { ids[id] = identity.content }
        }
    }

    /// Returns the indices of the items of an answer that are not held, from `first` on. An item that the answer itself
    /// repeats is returned once, unless ids repeat in the list.
    private func newIndices(of content: PageContent, from first: Int) -> [Int] {
        var own: Set<[UInt8]> = []
        return (first..<max(first, content.count)).filter { index in
            guard !allowsDuplicates, let id = content.ids.bytes(at: index) else { return true }
            return ids[id] == nil && own.insert(id).inserted
        }
    }

    /// Returns the position of the request that follows an answer with `count` items. On a grid it is the next page,
    /// whatever the number of items. The origin may have left items out of this page, or out of page one, which gave
    /// the grid its size.
    private func place(behind count: Int, at begin: Int) -> Int {
        guard case .grid(let size) = access, count > 0, size > 0 else { return begin + count }
        return (begin / size + 1) * size
    }

    /// The distance from a page without items to the page after it.
    private var step: Int { if case .grid(let size) = access { max(1, size) } else { max(1, fullPage ?? 1) } }

    /// Returns the position to compare with the total. On a grid, the position is computed from the real size of the
    /// pages. Pages can have more or fewer items than page one, which gave the grid its size.
    private func counted(from begin: Int) -> Int {
        guard case .grid(let size) = access, size > 0 else { return begin }
        return max(begin / size * (fullPage ?? size), end)
    }

    private mutating func target(after page: FetchedPage) -> PageRequest.Target? {
        switch access {
        case .chain:
            return page.next.map { .cursor($0) }
        case .offsets:
            let isProven = page.content.isEmpty || total.exactCount != nil
            return .offset(position - (isProven ? 0 : max(0, min(overlap, (fullPage ?? 1) - 1))))
        case .grid:
            return .offset(position)
        case .single:
            return nil
        }
    }
}
