import PageModel

/// The walk of one pass through a chain: the positions that it has reached, and the items that it has received
/// (R22–R24).
struct ChainWalk: Equatable {
    /// How the walk passes through held items.
    enum Mode: Equatable {
        /// The walk continues until the length of the list equals the origin's total.
        case untilExplained
        /// The walk continues to the end of the chain.
        case whole
        /// The walk begins at the last page, and checks whether the list still ends there. An item at another position
        /// starts a walk from page one.
        case checkingEnd
    }

    /// An item that arrived at two positions in one walk.
    struct Repeat: Hashable {
        var key: UInt64
        /// The number of items that the walk had received before the item arrived again.
        var received: Int
    }

    /// Items at the head of answers of one walk that repeat the last items before the answer. An insert during the walk
    /// can push them there. An inclusive cursor returns them again. The list itself can repeat an item at that place.
    struct Pushes: Equatable {
        /// The number of such items in each answer after page one.
        var counts: [Int] = []
        /// The items, by the number of items that the walk had received before each of them.
        var items: [Int: ItemIdentity] = [:]
        /// Whether one of the items has other content than the held item with the same key.
        var hasOthers = false

        var isEmpty: Bool { items.isEmpty }

        /// Whether each answer begins with the same number of such items, as with an inclusive cursor.
        var isInclusive: Bool { counts.allSatisfy { $0 == counts.first } }

        mutating func add(_ observed: ObservedPage, at offset: Int, received: Int) {
            var count = 0
            for (index, identity) in observed.identities.enumerated() {
                guard let place = observed.places[index], place.position < offset else { break }
                items[received + index] = identity
                if place.content != identity.content { hasOthers = true }
                count += 1
            }
            counts.append(count)
        }

        /// Whether both walks received the same items again at the same places, possibly with other content.
        func hasKeys(of other: Pushes) -> Bool {
            counts == other.counts && items.mapValues(\.key) == other.items.mapValues(\.key)
        }
    }

    /// How the walk passes through held items. `nil` means that the walk only continues the chain.
    var mode: Mode?
    /// The cursor of a page with items that names itself as the next page (R24). `nil` if there was none.
    var selfLink: PageCursor?
    /// The items that this walk received again at the head of answers.
    var pushes = Pushes()
    /// Items that arrived again in the walk, after their first position.
    var repeats: Set<Repeat> = []
    /// The number of items that the walk has received, including page one.
    var received = 0
    /// Whether the total differed between two answers, or the walk has passed over held items.
    var hasChanged = false
    /// Whether an answer of this walk stated a smaller total than the answer before it. A cursor can be a position, so
    /// that the next pages may lack items that a delete has moved to pages before them.
    private(set) var hasShrunk = false
    /// The last total that an answer after page one stated. `nil` before the first such answer.
    private(set) var total: Int?
    /// Whether the list keeps held items that no answer of this walk has shown, because the totals before and after
    /// them differ.
    private(set) var hasPassedOver = false
    /// How often each position was requested again because an answer passed over held items.
    private var looks: [Int: Int] = [:]
    /// The maximum number of such requests for one position. A different replica may give each answer.
    private static let mostLooks = 8
    /// Whether items arrived again in this walk at places where no insert can have moved them. The pages are then not
    /// parts of one list.
    var isDisordered = false
    /// The number of consecutive answers without items. A repeated request counts once.
    var emptyAnswers = 0
    /// The cursor of the last answer without items.
    private var emptyAt: PageCursor?
    /// The number of pages with new items that the walk has stored after page one.
    var newPages = 0
    /// The position that a walk from this pass's page one has reached without a break, each time by the cursor of the
    /// previous answer. `nil` if no such walk has begun.
    private(set) var unbrokenTo: Int?
    /// The position that the repeated walk has reached without a break. A page that another owner fetches is a break
    /// (R30).
    private(set) var walkedTo = 0
    /// Whether the list was walked again in this pass. It is walked again at most once.
    private(set) var hasWalkedAgain = false
    /// How often the end of the chain was requested again.
    private var reopenings = 0

    /// Whether the walk passes through held items on purpose.
    var isThorough: Bool { mode == .whole || mode == .checkingEnd }

    // MARK: How far it has come

    /// Records an answer without items. Returns whether the last such answer had the same cursor.
    mutating func confirmsEmpty(at cursor: PageCursor) -> Bool {
        defer { emptyAt = cursor }
        return emptyAt == cursor
    }

    /// Begins the walk with page one.
    mutating func begin(behind count: Int) {
        unbrokenTo = count
        received = count
        total = nil
    }

    /// Continues the walk directly after page one.
    mutating func follow(pageOne count: Int) { (unbrokenTo, total) = (count, nil) }

    /// Begins the walk of a list without gaps again from page one.
    mutating func walkAgain(behind count: Int) {
        (hasWalkedAgain, walkedTo, unbrokenTo) = (true, count, count)
        total = nil
    }

    /// Records that the page at `offset` was stored, and the walk continues at `after`.
    mutating func advance(from offset: Int, to after: Int) {
        if walkedTo == offset { walkedTo = after }
        if unbrokenTo == offset { unbrokenTo = after }
    }

    /// Records that the walk has ended.
    mutating func end(from offset: Int, at position: Int) { if unbrokenTo == offset { unbrokenTo = position } }

    /// Whether the walk came to `offset` from page one without a break. A walk that began with a stored cursor proves
    /// less: the cursor may belong to an earlier state of the list.
    func isFromPageOne(to offset: Int) -> Bool { unbrokenTo == offset || hasWalkedAgain && walkedTo == offset }

    /// Returns whether the end of a chain may be requested once more, and counts this request.
    mutating func reopens() -> Bool {
        guard reopenings < 2 else { return false }
        reopenings += 1
        if mode == nil { mode = .untilExplained }
        return true
    }

    // MARK: What it has received

    /// Records the total of an answer. The total of page one counts as the one before the first answer.
    mutating func observe(total: ListTotal, after pageOne: ListTotal) {
        if total.exactCount ?? .max < self.total ?? pageOne.exactCount ?? 0 { hasShrunk = true }
        self.total = total.count ?? self.total
    }

    /// Records that held items are kept although this walk has not received them. Such a walk does not disprove a
    /// total.
    mutating func passOver() { (hasPassedOver, hasChanged) = (true, true) }

    /// Returns whether a position whose answer passes over held items may be requested again, and counts this request.
    mutating func looksAgain(at offset: Int) -> Bool {
        guard looks[offset, default: 0] < ChainWalk.mostLooks else { return false }
        looks[offset, default: 0] += 1
        return true
    }

    /// Records an answer. Items do not count as repeats if an insert has pushed them into this page, or an inclusive
    /// cursor returns them again.
    /// - Returns: the items that were received before in this walk, or earlier in the same answer.
    mutating func receive(_ observed: ObservedPage, at offset: Int) -> Set<Repeat> {
        let repeats = repeats(in: observed, at: offset)
        if repeats.isEmpty { pushes.add(observed, at: offset, received: received) } else { isDisordered = true }
        self.repeats.formUnion(repeats)
        received += observed.content.count
        return repeats
    }

    private func repeats(in observed: ObservedPage, at offset: Int) -> Set<Repeat> {
        if !observed.repeatsItems, observed.isPushed(to: offset) { return [] }
        var keys: Set<UInt64> = []
        var repeats: Set<Repeat> = []
        for (index, identity) in observed.identities.enumerated() {
            let isStoredBefore = observed.places[index].map { $0.position < offset } ?? false
            if !keys.insert(identity.key).inserted || isStoredBefore {
                repeats.insert(Repeat(key: identity.key, received: received + index))
            }
        }
        return repeats
    }
}

extension ObservedPage {
    /// Whether the repeated items of the answer are at its head, in order, and are the ones just before `offset`. An
    /// insert during the walk pushes items into the next page in this way. Items that arrive again in any other way
    /// show that the pages are not parts of one list. Returns true if no item arrives again.
    func isPushed(to offset: Int) -> Bool {
        let again = places.map { $0.flatMap { $0.position < offset ? $0.position : nil } }
        let count = again.count { $0 != nil }
        return again.prefix(count).enumerated().allSatisfy { $1 == offset - count + $0 }
    }

    /// Returns the answer without the items at its head that are the last held ones before `offset`, unchanged. Returns
    /// the whole answer if it has no other items, or does not begin with such items.
    func withoutPushed(to offset: Int) -> ObservedPage {
        let again = places.prefix { $0.map { $0.position < offset } ?? false }.count
        guard again > 0, again < content.count, isPushed(to: offset), (0..<again).allSatisfy(isHeldAsSent) else {
            return self
        }
        return ObservedPage(
            offset: self.offset, content: content.slice(again..<content.count), places: placesByKey, isEnd: isEnd,
            cursorIn: cursorIn, cursorOut: cursorOut)
    }
}
