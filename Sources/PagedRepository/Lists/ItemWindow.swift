public import PageModel

/// Some positions of a list: what is there, and what is missing (R12).
public struct ItemWindow<Value: Sendable>: Sendable {
    /// The positions that were asked for.
    public var range: Range<Int>
    /// What can be read of them, by position.
    public var runs: [ListSnapshot<Value>.Run]
    /// Positions among them that hold nothing, and, as far as anybody knows, exist.
    public var missing: [Range<Int>]
    /// Positions whose bytes are damaged, or do not decode any more.
    public var unusable: [Range<Int>]
    /// What the origin says of the list's length.
    public var total: Total
    /// Where the list ends; nil while nobody knows.
    public var end: Int?
    /// The age of the list by the policy; nil when it was never had.
    public var freshness: Freshness?
    /// When the origin last confirmed page one, from which the list's age counts (R12); nil when it was never had.
    public var validatedAt: Timestamp?
    /// For how long the origin calls the list fresh; nil where it does not say. What that is worth, `FreshnessPolicy`
    /// says.
    public var freshFor: Duration?
    /// Whether everything in it is in the storage. False where the origin forbids to keep answers (`no-store`): some
    /// items then came with this very call, and come again only from the origin.
    public var isKept = true
    /// The version of the list that it was read of.
    public var version: ListVersion

    /// Nothing of these positions.
    init(range: Range<Int>) {
        self.range = range
        runs = []
        missing = [range]
        unusable = []
        total = .unknown
        end = nil
        freshness = nil
        version = ListVersion(generation: 0, revision: 0)
    }

    /// The items from the first position that was asked for, up to the first that is missing.
    public var items: PagedItems<Value> {
        guard let first = runs.first, first.offset == range.lowerBound else { return PagedItems() }
        return first.items
    }
}

extension SnapshotBuilder {
    /// The items at `range` and the list's record, read in one transaction (R2), how many bytes their payloads have,
    /// and the storage's time of the read. Nil when there is no such query.
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
                result.runs.add(stretch.values, at: begins, isHeld: part.isHeld)
                if part.isHeld { held.append(begins..<begins + stretch.values.count) }
            }
            for index in page.unusable { result.unusable.append(part.offset + index..<part.offset + index + 1) }
        }
        let end = record.end ?? record.total.exactCount
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

    /// From memory, if it is there. A page that the window cuts off is known by what is left of it, as another page.
    private func decoded(_ content: PageContent, of query: QueryID) -> DecodedPage<Value> {
        let key = DecodedPageKey(query: query, fingerprint: content.fingerprint, count: content.count)
        if let known = cache.element(key) { return known }
        let page = decode(content)
        cache.keep(page, key, cost: content.bytes.count)
        return page
    }
}
