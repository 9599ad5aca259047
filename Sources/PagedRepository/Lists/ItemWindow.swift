public import PageModel

/// Some positions of a list, with their items and gaps (R12).
public struct ItemWindow<Value: Sendable>: Sendable {
    /// The requested positions.
    public var range: Range<Int>
    /// The readable items at the requested positions, in order, including those after a missing position. Each segment
    /// has the position of its first item.
    public var segments: [ListSnapshot<Value>.Segment]
    /// The requested positions without a held item, up to the end of the list if it is known.
    public var missing: [Range<Int>]
    /// The requested positions without a value in `segments`, because their bytes are damaged or do not decode.
    public var unusable: [Range<Int>]
    /// The requested positions whose bytes do not decode. With `UndecodableItems.placeholder`, `segments` has a value
    /// for them.
    public var undecodable: [Range<Int>]
    /// The length of the list, as the origin states it.
    public var total: ListTotal
    /// The position at which the list ends. `nil` means unknown.
    public var end: Int?
    /// The freshness of the list by `PagedListOptions.freshness`. `nil` means that page one was never fetched.
    public var freshness: Freshness?
    /// When page one was last validated, by the storage's clock (R52). The list's age counts from this time (R12).
    /// `nil` means that page one was never fetched.
    public var validatedAt: Timestamp?
    /// How long the origin calls the list fresh. `nil` means that the origin does not say. `FreshnessPolicy` decides
    /// how the value counts.
    public var freshFor: Duration?
    /// Whether all items are in the storage. False when the origin forbids storing its answers (`no-store`), and for an
    /// ephemeral list. Some items then exist only in this window, and a later call must fetch them again.
    public var isStored = true
    /// The version of the list that was read.
    public var version: ListVersion

    /// An empty window of these positions.
    init(range: Range<Int>) {
        self.range = range
        segments = []
        missing = [range]
        unusable = []
        undecodable = []
        total = .unknown
        end = nil
        freshness = nil
        version = ListVersion(generation: 0, revision: 0)
    }

    /// The items of the segment that begins at the first requested position. Empty when that position has no value.
    /// `segments` has all items.
    public var items: PagedItems<Value> {
        guard let first = segments.first, first.offset == range.lowerBound else { return PagedItems() }
        return first.items
    }

    /// Whether a request to the origin can add items: a position is missing, or its bytes are damaged.
    var isPartial: Bool { !missing.isEmpty || !unusable.isEmpty && unusable != undecodable }
}

extension SnapshotBuilder {
    /// Returns the items at `range` and the list's record, read in one transaction (R2). Also returns the payload size
    /// in bytes and the storage's time of the read. Returns nil when there is no such query.
    func window(
        _ query: QueryID, _ range: Range<Int>
    ) async throws(StorageError) -> (window: ItemWindow<Value>, record: QueryRecord, bytes: Int, readAt: Timestamp)? {
        guard let window = try await storage.window(of: query, range) else { return nil }
        let record = window.record
        var bytes = 0
        var result = ItemWindow<Value>(range: range)
        result.missing = []
        result.unusable = window.damaged
        var held: [Range<Int>] = []
        for part in window.parts {
            let page = decoded(part.content, of: record.id)
            bytes += part.content.bytes.count
            for stretch in page.stretches {
                let begins = part.offset + stretch.index
                result.segments.add(stretch.values, at: begins, isHeld: part.isHeld)
                if part.isHeld { held.append(begins..<begins + stretch.values.count) }
            }
            for index in page.unusable { result.unusable.append(position: part.offset + index) }
            for index in page.undecodable { result.undecodable.append(position: part.offset + index) }
        }
        // A total below the last held position does not end the list.
        let end = record.shownEnd ?? record.total.exactCount.flatMap { held.last?.upperBound ?? 0 > $0 ? nil : $0 }
        let real = range.clamped(to: 0..<max(range.lowerBound, end ?? .max))
        result.missing = Coverage(held).gaps(in: real)
        result.total = record.total
        result.end = end
        result.freshness = policy.freshness(of: record, now: window.readAt)
        result.validatedAt = record.validatedAt
        result.freshFor = record.freshFor
        result.version = window.version
        return (result, record, bytes, window.readAt)
    }

    /// Returns the decoded page, from memory when it is cached. A page that the window cuts off is cached under the
    /// fingerprint of the remaining items.
    private func decoded(_ content: PageContent, of query: QueryID) -> DecodedPage<Value> {
        let key = DecodedPageKey(query: query, fingerprint: content.fingerprint, count: content.count)
        if let known = cache.element(key) { return known }
        let page = decode(content)
        cache.keep(page, key, cost: content.bytes.count)
        return page
    }
}
