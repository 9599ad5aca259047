import PageModel
import Synchronization

/// Builds snapshots of stored lists.
struct SnapshotBuilder<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let codec: any ItemCodec<Value>
    let cache: DecodedPages<Value>
    let policy: FreshnessPolicy
    /// The maximum number of items in a snapshot.
    let itemLimit: Int

    /// A snapshot, and the record that it was built from.
    struct Built {
        var snapshot: ListSnapshot<Value>
        var record: QueryRecord
        /// The storage's time of the read.
        var readAt: Timestamp
    }

    /// Builds a snapshot. Returns nil when no such query exists. The caller sets activity and failure.
    func build(_ query: QueryID) async throws(StorageError) -> Built? {
        let chosen = Chosen()
        // The outline and the items come from one transaction (R2, R39). The choice of pages to read is part of it.
        guard let reading = try await storage.list(of: query, reading: { chosen.choose(of: $0, self) }) else {
            return nil
        }
        let pages = decoded(chosen.pages, reading)
        return Built(
            snapshot: snapshot(reading.outline, pages), record: reading.outline.record, readAt: reading.outline.readAt)
    }

    /// Returns the freshness of a list with this record.
    /// - Parameters:
    ///   - record: the record of the list.
    ///   - now: the storage's time.
    func freshness(of record: QueryRecord, now: Timestamp) -> Freshness? {
        policy.freshness(of: record, now: now)
    }

    private struct Decoded {
        var summary: PageSummary
        /// The decoded page. `nil` means that the page must be read.
        var page: DecodedPage<Value>?
    }

    /// The pages of a snapshot, chosen while the list is read.
    ///
    /// State: the pages, under a mutex. The storage sets them on the thread of the read, and the builder takes them
    /// afterwards.
    private final class Chosen: Sendable {
        private let state = Mutex<[Decoded]>([])

        var pages: [Decoded] { state.withLock { $0 } }

        /// Chooses the pages. Returns the positions of those that are not in memory.
        func choose(of list: ListOutline, _ builder: SnapshotBuilder) -> [Range<Int>] {
            let pages = builder.known(list)
            state.withLock { $0 = pages }
            var missing: [Range<Int>] = []
            for entry in pages where entry.page == nil {
                if let last = missing.last, last.upperBound == entry.summary.offset {
                    missing[missing.count - 1] = last.lowerBound..<entry.summary.range.upperBound
                } else {
                    missing.append(entry.summary.range)
                }
            }
            return missing
        }
    }

    /// Returns as many pages as fit into a snapshot, with the values of those that are in memory.
    private func known(_ list: ListOutline) -> [Decoded] {
        var wanted: [PageSummary] = []
        var items = 0
        for page in list.pages where page.count > 0 {
            guard items + page.count <= itemLimit else { break }
            items += page.count
            wanted.append(page)
        }
        return zip(wanted, cache.elements(wanted.map { key($0, list) })).map { Decoded(summary: $0, page: $1) }
    }

    private func decoded(_ chosen: [Decoded], _ reading: ListReading) -> [Decoded] {
        guard !reading.windows.isEmpty else { return chosen }
        var parts: [Int: PageContent] = [:]
        for window in reading.windows { for part in window.parts { parts[part.offset] = part.content } }
        return chosen.map { entry in
            guard entry.page == nil else { return entry }
            let page = entry.summary
            // A page that the storage does not return is damaged. All its items count as a miss (R7).
            guard let content = parts[page.offset], content.count == page.count else {
                return Decoded(summary: page, page: DecodedPage(unusable: Array(0..<page.count)))
            }
            let values = decode(content)
            cache.keep(values, key(page, reading.outline), cost: content.bytes.count)
            return Decoded(summary: page, page: values)
        }
    }

    func decode(_ content: PageContent) -> DecodedPage<Value> {
        if let values = codec.values(of: content), values.count == content.count { return DecodedPage(values: values) }
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

    private func key(_ page: PageSummary, _ list: ListOutline) -> DecodedPageKey {
        DecodedPageKey(query: list.record.id, fingerprint: page.fingerprint, count: page.count)
    }

    private func snapshot(_ list: ListOutline, _ pages: [Decoded]) -> ListSnapshot<Value> {
        let record = list.record
        var snapshot = ListSnapshot<Value>()
        var whole = 0
        for entry in pages {
            guard let page = entry.page else { continue }
            let isHeld = entry.summary.generation == record.version.generation
            let begins = entry.summary.offset
            if isHeld, begins == whole, page.unusable.isEmpty { snapshot.pagesLoaded += 1 }
            for stretch in page.stretches {
                snapshot.runs.add(stretch.values, at: begins + stretch.index, isHeld: isHeld)
            }
            for index in page.unusable { snapshot.addUnusable(begins + index) }
            if let first = snapshot.runs.first, first.offset == 0, first.isHeld { whole = first.items.count }
        }
        if let first = snapshot.runs.first, first.offset == 0, first.isHeld { snapshot.items = first.items }
        snapshot.gaps = list.gaps
        snapshot.total = record.total
        snapshot.end = record.end ?? record.total.exactCount
        snapshot.hasMore = record.validatedAt == nil || snapshot.end.map { snapshot.items.count < $0 } ?? true
        snapshot.validatedAt = record.validatedAt
        snapshot.freshness = list.freshness(policy, now: list.readAt)
        snapshot.failingPages = list.failures.count
        snapshot.inferredSeams = list.inferredSeams
        snapshot.allowsDuplicates = record.allowsDuplicates
        snapshot.version = record.version
        return snapshot
    }
}

extension Array {
    /// Adds values behind the last segment. They extend it if no position is between them, and both or neither are
    /// held.
    mutating func add<Value: Sendable>(_ values: [Value], at position: Int, isHeld: Bool)
    where Element == ListSnapshot<Value>.Run {
        if let last, last.range.upperBound == position, last.isHeld == isHeld {
            self[count - 1].items.append(values)
        } else {
            append(ListSnapshot.Run(offset: position, items: PagedItems([values]), isHeld: isHeld))
        }
    }
}

extension ListSnapshot {
    fileprivate mutating func addUnusable(_ position: Int) {
        if let last = unusable.last, last.upperBound == position {
            unusable[unusable.count - 1] = last.lowerBound..<position + 1
        } else {
            unusable.append(position..<position + 1)
        }
    }
}
