import PageModel

/// What one answer showed of the list as it is at the origin, and where the cached list holds it.
struct Sighting: Equatable {
    /// The origin's position of the first item.
    var offset: Int
    var content: PageContent
    /// The identity of each item.
    let identities: [ItemIdentity]
    /// Where the cached list holds each item; nil for what it does not hold.
    var places: [ItemPlace?]
    /// The list ends behind the last item, or before the first when there is none.
    var isEnd: Bool
    /// Said twice, and page one was as ever in between: no bad minute (R20).
    var isWitnessed = false
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

    /// Whether an id comes twice: then the answer cannot be aligned (R25).
    var repeatsItems: Bool { Set(identities.map(\.key)).count < identities.count }

    /// Whether the item at `index` is held with the very bytes that were sent.
    func isHeldAsSent(_ index: Int) -> Bool { places[index]?.content == identities[index].content }

    /// Whether the item at `index` is the one at `place` of another answer: in its bytes or as JSON.
    func shows(_ index: Int, asIn other: Sighting, _ place: Int) -> Bool {
        identities[index] == other.identities[place]
            || identities[index].key == other.identities[place].key
                && content.isSame(index, as: place, of: other.content)
    }

    /// The page to store for the items at `indices`.
    func write(_ indices: Range<Int>, at position: Int, evidence: Evidence) -> PageWrite {
        let isWhole = indices == 0..<content.count
        return PageWrite(
            offset: position, content: content.slice(indices), evidence: evidence,
            cursorIn: indices.lowerBound == 0 ? cursorIn : nil,
            cursorOut: indices.upperBound == content.count ? cursorOut : nil, validator: isWhole ? validator : nil)
    }
}
