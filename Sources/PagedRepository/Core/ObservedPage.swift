import PageModel

/// One answer about the list at the origin, and the places of its items in the cached list.
struct ObservedPage: Equatable {
    /// The position of the first item at the origin.
    var offset: Int
    var content: PageContent
    /// The identity of each item.
    let identities: [ItemIdentity]
    /// The place of each item in the cached list. `nil` for an item that is not held.
    var places: [ItemPlace?]
    /// Whether the list ends after the last item of the answer, or at `offset` if the answer has no items.
    var isEnd: Bool
    /// Whether the answer was repeated, with an unchanged page one in between (R20).
    var isWitnessed = false
    /// Whether the answer itself reports more items.
    var saysMore = false
    var cursorIn: PageCursor?
    var cursorOut: PageCursor?
    var validator: Validator?

    init(
        offset: Int, content: PageContent, places: [UInt64: ItemPlace], isEnd: Bool, cursorIn: PageCursor? = nil,
        cursorOut: PageCursor? = nil, validator: Validator? = nil
    ) {
        self.offset = offset
        self.content = content
        identities = content.identities
        self.places = identities.map { places[$0.key] }
        self.isEnd = isEnd
        self.cursorIn = cursorIn
        self.cursorOut = cursorOut
        self.validator = validator
    }

    var range: Range<Int> { offset..<offset + content.count }

    /// Whether every item is held at the position where it arrived.
    var isInPlace: Bool { isHeld(from: offset) }

    /// Whether the list holds all items of the answer one after the other, from this position on.
    func isHeld(from first: Int) -> Bool { places.enumerated().allSatisfy { $1?.position == first + $0 } }

    /// Whether every item before position `end` is held at the position where it arrived.
    /// - Parameter again: the number of items at the head of the answer that belong before `offset`. Defaults to 0.
    func isInPlace(before end: Int, again: Int = 0) -> Bool {
        let first = offset - again
        return places.prefix(max(0, end - first)).enumerated().allSatisfy { $1?.position == first + $0 }
    }

    /// Whether the items of the answer are those that are held at its positions, in another order. Such an answer shows
    /// no insert and no removal, and moves no other item: its positions hold the same items as before.
    var isReordered: Bool {
        guard !places.isEmpty, places.allSatisfy({ $0.map { range.contains($0.position) } ?? false }) else {
            return false
        }
        return !isInPlace && Set(places.map { $0?.position }).count == places.count
    }

    /// Returns the list with the items of this answer in their own order, if the answer has all items that are held at
    /// its positions, and none of its items is held elsewhere. Returns nil otherwise, because items have then moved.
    /// - Parameter held: the number of held positions among those of the answer.
    func ordering(held: Int) -> Rearrangement? {
        let known = places.compactMap { $0?.position }
        guard held > 0, known.count == held, !repeatsItems, known.allSatisfy({ range.contains($0) }) else { return nil }
        let before: [Rearrangement.Piece] = offset > 0 ? [.kept(0..<offset)] : []
        let page = write(0..<content.count, at: offset, evidence: .inferred)
        return Rearrangement(
            before + [.written(page, from: places.map { $0?.position }), .kept(range.upperBound..<Int.max)])
    }

    /// The place of each held item, by its key.
    var placesByKey: [UInt64: ItemPlace] {
        Dictionary(
            zip(identities, places).compactMap { identity, place in place.map { (identity.key, $0) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// Whether an id repeats. Such an answer cannot be aligned (R25).
    var repeatsItems: Bool { Set(identities.map(\.key)).count < identities.count }

    /// Whether the item at `index` is held with exactly the bytes that were sent.
    func isHeldAsSent(_ index: Int) -> Bool { places[index]?.content == identities[index].content }

    /// Whether the item at `index` equals the item at `place` of another answer, in its bytes or as JSON.
    func shows(_ index: Int, asIn other: ObservedPage, _ place: Int) -> Bool {
        identities[index] == other.identities[place]
            || identities[index].key == other.identities[place].key
                && content.isSame(index, as: place, of: other.content)
    }

    /// Returns the page to store for the items at `indices`. Cursors and the validator are kept where they still apply.
    func write(_ indices: Range<Int>, at position: Int, evidence: Evidence) -> PageWrite {
        let isWhole = indices == 0..<content.count
        return PageWrite(
            offset: position, content: content.slice(indices), evidence: evidence,
            cursorIn: indices.lowerBound == 0 ? cursorIn : nil,
            cursorOut: indices.upperBound == content.count ? cursorOut : nil, validator: isWhole ? validator : nil)
    }
}

extension ObservedPage {
    /// Returns the index from which the answer repeats the first items of the list, after new ones. Returns nil if the
    /// answer does not end with at least two of these items: a single one may have moved there.
    func beginningAgain(behind offset: Int) -> Int? {
        guard let cut = places.firstIndex(where: { $0?.position == 0 }), cut > 0, places.count - cut > 1,
            places.count - cut < offset,
            // Items with the ids of the first ones and other content are other items (R25).
            places.indices[cut...].allSatisfy({ index in
                places[index]?.position == index - cut && places[index]?.content == identities[index].content
            }),
            places[..<cut].allSatisfy({ $0.map { $0.position >= offset } ?? true })
        else { return nil }
        return cut
    }
}
