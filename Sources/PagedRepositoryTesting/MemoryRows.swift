import PageModel

/// A page in memory: what is known of it, its items, and what follows from them.
///
/// Items never change: other items are another page. So what is computed from them is computed once.
struct MemoryPage: Sendable {
    private(set) var content: PageContent
    /// The identity key of each item.
    let keys: [UInt64]
    /// What the items take in a store: the payloads, and a layout of LEB128 numbers and ids before them.
    let bytes: Int
    var summary: PageSummary
    /// Read since the last transaction that knew the time.
    var isMarked = false
    /// When a read was last noticed.
    var readAt: Timestamp?

    /// The summary's count and fingerprint are made to fit the items.
    init(_ summary: PageSummary, _ content: PageContent) {
        let identities = content.identities
        self.content = content
        keys = identities.map(\.key)
        bytes = MemoryPage.layoutSize(of: content) + content.bytes.count
        self.summary = summary
        self.summary.count = content.count
        self.summary.fingerprint = PageContent.fingerprint(of: identities)
    }

    /// A page that the origin has just answered.
    init(_ page: PageWrite, in version: ListVersion, at now: Timestamp) {
        self.init(
            PageSummary(
                offset: page.offset, count: 0, generation: version.generation, revision: version.revision,
                // Nothing comes before the first item, so nothing about it is believed only.
                evidence: page.offset == 0 ? .verified : page.evidence, evidenceAt: now, fetchedAt: now,
                validatedAt: now, fingerprint: 0, cursorIn: page.cursorIn, cursorOut: page.cursorOut,
                validator: page.validator),
            page.content)
    }

    var offset: Int { summary.offset }
    var range: Range<Int> { summary.range }
    var isEmpty: Bool { content.isEmpty }

    /// When it was last read or fetched (R40).
    var usedAt: Timestamp { max(summary.fetchedAt, readAt ?? summary.fetchedAt) }

    /// Whether both hold the same items, in their bytes or as JSON.
    func isSame(as other: MemoryPage) -> Bool {
        summary.fingerprint == other.summary.fingerprint || content.isSame(as: other.content)
    }

    /// Whether it holds one of these positions. A page without items lies at its offset all the same, and is found
    /// there by a range without positions, too.
    func meets(_ positions: Range<Int>) -> Bool {
        guard isEmpty else { return range.overlaps(positions) }
        return positions.contains(offset) || positions == offset..<offset
    }

    /// Its items before `index`, and those from there on.
    func split(at index: Int) -> [MemoryPage] {
        var head = summary
        head.innerInferredSeams = summary.innerInferredSeams.filter { $0.index < index }
        // Neither half is what a request answered (R1); each keeps the cursor at its outer end.
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

    /// Its items and those of the page behind it as one page, which is as old as the older of the two.
    func joined(with next: MemoryPage) -> MemoryPage {
        var both = summary
        // G1: what was only believed between the pages is only believed inside.
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

    /// A byte for the format and the number of items; per item the length of its payload, then 0 for "no id", or twice
    /// the length of the id, one more for a number, plus one; and the id.
    private static func layoutSize(of content: PageContent) -> Int {
        (0..<content.count).reduce(1 + size(content.count)) { sum, index in
            let place = content.places[index]
            let id = size(place.idWord + 1) + max(place.idCount, 0)
            return sum + size(content.byteRange(of: index).count) + id
        }
    }

    /// Bytes of a number in LEB128: seven bits each.
    private static func size(_ number: Int) -> Int {
        max(1, (Int.bitWidth - number.leadingZeroBitCount + 6) / 7)
    }
}

extension [Int] {
    /// Each number at its first place only.
    var eachOnce: [Int] {
        var seen: Set<Int> = []
        return filter { seen.insert($0).inserted }
    }
}
