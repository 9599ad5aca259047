import PageModel

/// Makes snapshots of lists from what is stored.
struct SnapshotBuilder<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let codec: any ItemCodec<Value>
    let cache: DecodedPages<Value>
    let policy: FreshnessPolicy
    /// More items than this are not decoded into one snapshot.
    let itemLimit: Int

    /// Nil when there is no such query. Activity and failure are left to the caller.
    func build(_ query: QueryID, now: Timestamp) async throws(StorageError) -> ListSnapshot<Value>? {
        // R39: items and outline are read one after the other; what does not fit together is read again.
        for _ in 0..<8 {
            guard let list = try await storage.outline(of: query) else { return nil }
            if let pages = try await decoded(list) { return snapshot(list, pages, now) }
        }
        throw StorageError(.busy, "the list keeps changing while it is read; try again")
    }

    private struct Decoded {
        var summary: PageSummary
        var page: DecodedPage<Value>?
    }

    /// Nil when the items are not those of the outline any more.
    private func decoded(_ list: ListOutline) async throws(StorageError) -> [Decoded]? {
        var wanted: [PageSummary] = []
        var items = 0
        for page in list.pages where page.count > 0 {
            guard items + page.count <= itemLimit else { break }
            items += page.count
            wanted.append(page)
        }
        var decoded = zip(wanted, cache.pages(wanted.map { key($0, list) })).map { Decoded(summary: $0, page: $1) }
        let missing = decoded.indices.filter { decoded[$0].page == nil }
        guard let first = missing.first, let last = missing.last else { return decoded }
        // In one read, what lies between included: it costs less than a read for each.
        let range = decoded[first].summary.offset..<decoded[last].summary.range.upperBound
        guard let window = try await storage.window(of: list.record.id, range) else { return nil }
        let parts = Dictionary(window.parts.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        for index in missing {
            let page = decoded[index].summary
            guard let part = parts[page.offset], part.content.count == page.count else {
                guard window.damaged.contains(page.range) else { return nil }
                decoded[index].page = DecodedPage(unusable: Array(0..<page.count))
                continue
            }
            guard part.content.fingerprint == page.fingerprint else { return nil }
            let values = decode(part.content)
            cache.keep(values, key(page, list), cost: part.content.bytes.count)
            decoded[index].page = values
        }
        return decoded
    }

    func decode(_ content: PageContent) -> DecodedPage<Value> {
        var page = DecodedPage<Value>()
        page.values.reserveCapacity(content.count)
        for index in 0..<content.count {
            if let value = try? codec.decode(content.payload(at: index)) {
                page.values.append(value)
            } else {
                page.unusable.append(index)
            }
        }
        return page
    }

    private func key(_ page: PageSummary, _ list: ListOutline) -> DecodedPages<Value>.Key {
        DecodedPages.Key(query: list.record.id, fingerprint: page.fingerprint, count: page.count)
    }

    private func snapshot(_ list: ListOutline, _ pages: [Decoded], _ now: Timestamp) -> ListSnapshot<Value> {
        let record = list.record
        var snapshot = ListSnapshot<Value>()
        var whole = 0
        for entry in pages {
            guard let page = entry.page else { continue }
            let isHeld = entry.summary.generation == record.version.generation
            let begins = entry.summary.offset
            if isHeld, begins == whole, page.unusable.isEmpty { snapshot.pagesLoaded += 1 }
            for stretch in page.stretches { snapshot.add(stretch.values, at: begins + stretch.index, isHeld: isHeld) }
            for index in page.unusable { snapshot.addUnusable(begins + index) }
            if let first = snapshot.runs.first, first.offset == 0, first.isHeld { whole = first.items.count }
        }
        if let first = snapshot.runs.first, first.offset == 0, first.isHeld { snapshot.items = first.items }
        snapshot.gaps = list.gaps
        snapshot.total = record.total
        snapshot.end = record.end ?? record.total.exactCount
        snapshot.hasMore = record.validatedAt == nil || snapshot.end.map { snapshot.items.count < $0 } ?? true
        snapshot.validatedAt = record.validatedAt
        snapshot.freshness = list.freshness(policy, now: now)
        snapshot.failingPages = list.failures.count
        snapshot.inferredSeams = list.inferredSeams
        snapshot.allowsDuplicates = record.allowsDuplicates
        snapshot.version = record.version
        return snapshot
    }
}

extension ListSnapshot {
    fileprivate mutating func add(_ values: [Value], at offset: Int, isHeld: Bool) {
        if let last = runs.last, last.range.upperBound == offset, last.isHeld == isHeld {
            runs[runs.count - 1].items.append(values)
        } else {
            runs.append(Run(offset: offset, items: PagedItems([values]), isHeld: isHeld))
        }
    }

    fileprivate mutating func addUnusable(_ position: Int) {
        if let last = unusable.last, last.upperBound == position {
            unusable[unusable.count - 1] = last.lowerBound..<position + 1
        } else {
            unusable.append(position..<position + 1)
        }
    }
}
