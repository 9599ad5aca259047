import PageModel

/// A page in memory: its summary, its items, and values computed from the items.
///
/// A change of items makes a new value, so the values computed from the items stay valid.
struct MemoryPage: Sendable {
    private(set) var content: PageContent
    /// The identity key of each item.
    let keys: [UInt64]
    /// The size of the items in a store: the payloads, and the layout before them, which consists of LEB128 numbers and
    /// ids.
    let bytes: Int
    var summary: PageSummary
    /// Whether the page was read since the last transaction that noted read times.
    var isMarked = false
    /// The last noted time of a read.
    var readAt: Timestamp?

    /// Sets the summary's count and fingerprint to those of the items.
    init(_ summary: PageSummary, _ content: PageContent) {
        let identities = content.identities
        self.content = content
        keys = identities.map(\.key)
        bytes = MemoryPage.layoutSize(of: content) + content.bytes.count
        self.summary = summary
        self.summary.count = content.count
        self.summary.fingerprint = PageContent.fingerprint(of: identities)
    }

    /// A page that the origin has just sent.
    init(_ page: PageWrite, in version: ListVersion, at now: Timestamp) {
        self.init(
            PageSummary(
                offset: page.offset, count: 0, generation: version.generation, revision: version.revision,
                // No item precedes the first one, so that no seam there can be inferred.
                evidence: page.offset == 0 ? .verified : page.evidence, evidenceAt: now, fetchedAt: now,
                validatedAt: now, fingerprint: 0, cursorIn: page.cursorIn, cursorOut: page.cursorOut,
                validator: page.validator),
            page.content)
    }

    var offset: Int { summary.offset }
    var range: Range<Int> { summary.range }
    var isEmpty: Bool { content.isEmpty }

    /// The time when the page was last read or fetched (R40).
    var usedAt: Timestamp { max(summary.fetchedAt, readAt ?? summary.fetchedAt) }

    /// Whether both pages hold the same items, by their bytes or as JSON.
    func isSame(as other: MemoryPage) -> Bool {
        summary.fingerprint == other.summary.fingerprint || content.isSame(as: other.content)
    }

    /// Whether the page holds one of these positions. A page without items occupies its offset, and an empty range at
    /// that offset finds it, too.
    func meets(_ positions: Range<Int>) -> Bool {
        guard isEmpty else { return range.overlaps(positions) }
        return positions.contains(offset) || positions == offset..<offset
    }

    /// Splits the page into two: the items before `index`, and the items from `index` on.
    func split(at index: Int) -> [MemoryPage] {
        var head = summary
        head.innerInferredSeams = summary.innerInferredSeams.filter { $0.index < index }
        // Neither half is the answer to a request (R1). Each half keeps the cursor at its outer end.
        head.validator = nil
        head.cursorOut = nil

        let seam = summary.innerInferredSeams.first { $0.index == index }
        var tail = summary
        tail.offset += index
        tail.evidence = seam == nil ? .verified : .inferred
        tail.evidenceAt = seam?.since ?? summary.fetchedAt
        tail.innerInferredSeams = summary.innerInferredSeams.filter { $0.index > index }.map {
            InnerSeam(index: $0.index - index, since: $0.since)
        }
        tail.validator = nil
        tail.cursorIn = nil
        return [part(head, 0..<index), part(tail, index..<content.count)]
    }

    /// Joins the page with the page after it. The result has the age of the older page.
    func joined(with next: MemoryPage) -> MemoryPage {
        var both = summary
        // An inferred seam between the pages stays inferred inside the joined page (G1).
        if next.summary.evidence == .inferred {
            both.innerInferredSeams.append(InnerSeam(index: content.count, since: next.summary.evidenceAt))
        }
        both.innerInferredSeams += next.summary.innerInferredSeams.map {
            InnerSeam(index: $0.index + content.count, since: $0.since)
        }
        both.fetchedAt = min(summary.fetchedAt, next.summary.fetchedAt)
        both.validatedAt = min(summary.validatedAt, next.summary.validatedAt)
        both.cursorOut = next.summary.cursorOut
        both.validator = nil
        var items = content
        items.append(contentsOf: next.content)
        var page = MemoryPage(both, items)
        page.isMarked = isMarked || next.isMarked
        page.readAt = [readAt, next.readAt].compactMap { $0 }.max()
        return page
    }

    private func part(_ summary: PageSummary, _ items: Range<Int>) -> MemoryPage {
        var part = MemoryPage(summary, content.slice(items))
        part.isMarked = isMarked
        part.readAt = readAt
        return part
    }

    /// Returns the size of the layout. The layout has a byte for the format and the number of items. For each item it
    /// has the length of the payload, a number for the id, and the id. The number is 0 without an id. It is 2·n + 1 for
    /// a string of n bytes, and 2·n + 2 for a number of n bytes.
    private static func layoutSize(of content: PageContent) -> Int {
        (0..<content.count).reduce(1 + size(content.count)) { sum, index in
            let place = content.places[index]
            let id = size(place.idWord + 1) + max(place.idCount, 0)
            return sum + size(content.byteRange(of: index).count) + id
        }
    }

    /// Returns the size of a number in LEB128: a byte for each seven bits.
    private static func size(_ number: Int) -> Int {
        max(1, (Int.bitWidth - number.leadingZeroBitCount + 6) / 7)
    }
}

extension [Int] {
    /// The numbers without repetitions, each at its first place.
    var eachOnce: [Int] {
        var seen: Set<Int> = []
        return filter { seen.insert($0).inserted }
    }
}
