import PageModel
import Synchronization

/// Builds snapshots of stored lists.
struct SnapshotBuilder<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let codec: any ItemCodec<Value>
    let cache: DecodedPages<Value>
    let policy: FreshnessPolicy
    /// The maximum number of positions in a snapshot, including items that do not decode.
    let itemLimit: Int

    /// A snapshot, and the record that it was built from.
    struct Built {
        var snapshot: ListSnapshot<Value>
        var record: QueryRecord
        /// The storage's time of the read.
        var readAt: Timestamp
        /// The recorded failures of fetches, earliest next attempt first.
        var failures: [LedgerEntry]
        /// The decoded pages of the snapshot, without damaged ones.
        var pages: ShownPages<Value>
    }

    /// Builds a snapshot. Returns nil when no such query exists. The caller sets activity and failure.
    /// - Parameters:
    ///   - query: the query of the list.
    ///   - shown: the decoded pages of the previous snapshot. That snapshot keeps their values in memory, so they are
    ///     not decoded again even if the cache has evicted them.
    func build(_ query: QueryID, reusing shown: ShownPages<Value>) async throws(StorageError) -> Built? {
        let chosen = Chosen()
        // The outline and the items come from one transaction (R2, R39). The choice of pages to read is part of it.
        guard let reading = try await storage.list(of: query, reading: { chosen.choose(of: $0, self, shown) }) else {
            return nil
        }
        let pages = decoded(chosen.pages, reading)
        var built = Built(
            snapshot: snapshot(reading.outline, pages), record: reading.outline.record, readAt: reading.outline.readAt,
            failures: reading.outline.failures, pages: [:])
        for entry in pages { if let page = entry.page, !page.isDamaged { built.pages[entry.key] = page } }
        return built
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
        var key: DecodedPageKey
        /// The decoded page. `nil` means that the page must be read.
        var page: DecodedPage<Value>?
        /// The number of items to show, counted from the first item of the page.
        var length: Int
    }

    /// The pages of a snapshot, chosen while the list is read.
    ///
    /// State: the pages, under a mutex. The storage sets them on the thread of the read, and the builder takes them
    /// afterwards.
    private final class Chosen: Sendable {
        private let state = Mutex<[Decoded]>([])

        var pages: [Decoded] { state.withLock { $0 } }

        /// Chooses the pages. Returns the positions of the pages that are not in memory.
        func choose(
            of list: ListOutline, _ builder: SnapshotBuilder, _ shown: ShownPages<Value>
        ) -> [Range<Int>] {
            let pages = builder.known(list, shown)
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

    /// Returns as many pages as fit into a snapshot. Pages in memory have their values.
    private func known(_ list: ListOutline, _ shown: ShownPages<Value>) -> [Decoded] {
        var wanted: [PageSummary] = []
        var items = 0
        for page in list.pages where page.count > 0 {
            guard items < itemLimit else { break }
            items += page.count
            wanted.append(page)
        }
        let keys = wanted.map { DecodedPageKey(query: list.record.id, fingerprint: $0.fingerprint, count: $0.count) }
        let cached = cache.elements(keys)
        var decoded = wanted.indices.map { index in
            Decoded(
                summary: wanted[index], key: keys[index], page: cached[index] ?? shown[keys[index]],
                length: wanted[index].count)
        }
        // The limit cuts the last page.
        if items > itemLimit { decoded[decoded.count - 1].length -= items - itemLimit }
        return decoded
    }

    private func decoded(_ chosen: [Decoded], _ reading: ListReading) -> [Decoded] {
        guard !reading.windows.isEmpty else { return chosen }
        var parts: [Int: PageContent] = [:]
        for window in reading.windows { for part in window.parts { parts[part.offset] = part.content } }
        return chosen.map { entry in
            guard entry.page == nil else { return entry }
            let page = entry.summary
            // A page that the storage does not return is damaged. All items of such a page count as misses (R7).
            guard let content = parts[page.offset], content.count == page.count else {
                let damaged = DecodedPage<Value>(unusable: Array(0..<page.count), isDamaged: true)
                return Decoded(summary: page, key: entry.key, page: damaged, length: entry.length)
            }
            let values = decode(content)
            cache.keep(values, entry.key, cost: content.bytes.count)
            return Decoded(summary: page, key: entry.key, page: values, length: entry.length)
        }
    }

    func decode(_ content: PageContent) -> DecodedPage<Value> {
        if let values = codec.values(of: content), values.count == content.count { return DecodedPage(values: values) }
        var page = DecodedPage<Value>()
        page.values.reserveCapacity(content.count)
        for index in 0..<content.count {
            let payload = content.payload(at: index)
            do {
                page.values.append(try codec.decode(payload))
            } catch {
                page.undecodable.append(index)
                if case .placeholder(let make) = codec.undecodable {
                    page.values.append(make(payload, error))
                } else {
                    page.unusable.append(index)
                }
            }
        }
        if !page.undecodable.isEmpty {
            let identities = content.identities
            page.undecodableIdentities = page.undecodable.map { identities[$0] }
        }
        return page
    }

    /// Whether `ListSnapshot.items` ends before the first item that does not decode.
    var stops: Bool { if case .stop = codec.undecodable { true } else { false } }

    /// Whether `ListSnapshot.items` leaves out items that do not decode.
    var skips: Bool { if case .skip = codec.undecodable { true } else { false } }

    private func snapshot(_ list: ListOutline, _ pages: [Decoded]) -> ListSnapshot<Value> {
        let record = list.record
        var snapshot = ListSnapshot<Value>()
        for entry in pages {
            guard let page = entry.page?.prefix(entry.length) else { continue }
            let isHeld = entry.summary.generation == record.version.generation
            let begins = entry.summary.offset
            for stretch in page.stretches {
                snapshot.segments.add(stretch.values, at: begins + stretch.index, isHeld: isHeld)
            }
            for index in page.unusable { snapshot.unusable.append(position: begins + index) }
            guard isHeld else { continue }
            for (index, identity) in zip(page.undecodable, page.undecodableIdentities) {
                snapshot.undecodable.append(position: begins + index)
                snapshot.undecodableItems.append(UndecodableItem(position: begins + index, identity: identity))
            }
            if page.isDamaged { for index in page.unusable { snapshot.damaged.append(position: begins + index) } }
        }
        snapshot.collectItems(skipping: skips ? snapshot.undecodable : [])
        snapshot.pagesLoaded = pages.count {
            $0.summary.generation == record.version.generation && $0.summary.offset < snapshot.itemsEnd
        }
        if let last = pages.last {
            snapshot.isAtItemLimit =
                last.length < last.summary.count || list.pages.last { $0.count > 0 }?.offset != last.summary.offset
        }
        snapshot.gaps = list.gaps
        snapshot.validatedAt = record.validatedAt
        // A total below the number of held items is wrong, so an estimate replaces it.
        snapshot.total = record.total.believed(reached: max(list.heldEnd, snapshot.itemsEnd)).raised(to: list.heldEnd)
        snapshot.end = record.shownEnd ?? snapshot.total.exactCount
        snapshot.hasMore =
            record.validatedAt == nil || snapshot.itemsBegin > 0 || snapshot.end.map { snapshot.itemsEnd < $0 } ?? true
        // If the total is reached, a next page that was not requested yet may still have items (R24).
        if snapshot.isVoid || record.endsBeforeTotal
            || list.isOpenChain && snapshot.itemsEnd >= (snapshot.end ?? .max)
        {
            (snapshot.end, snapshot.hasMore) = (nil, true)
        } else if snapshot.end == 0 {
            // Once the origin has confirmed that the list is empty, items of earlier generations are not shown.
            (snapshot.segments, snapshot.unusable) = ([], [])
        }
        snapshot.freshness = list.freshness(policy, now: list.readAt)
        snapshot.failingPages = list.failures.count
        snapshot.inferredSeams = list.inferredSeams
        snapshot.allowsDuplicates = record.allowsDuplicates
        snapshot.version = record.version
        return snapshot
    }
}

extension QueryRecord {
    /// Whether the list ends before its exact total. The list was then not read to its end since the total was stated:
    /// otherwise the total would be an estimate (R24).
    fileprivate var endsBeforeTotal: Bool { !isCutOff && end ?? .max < total.exactCount ?? 0 }

    /// The end of the list. `nil` when the end is not known, and when only a result window cuts the list off (R24).
    var shownEnd: Int? { end.flatMap { isCutOff && $0 >= resultWindow ?? .max ? nil : $0 } }
}

extension Array {
    /// Adds values after the last segment. The values extend that segment if they follow it directly, and if both or
    /// neither are held.
    mutating func add<Value: Sendable>(_ values: [Value], at position: Int, isHeld: Bool)
    where Element == ListSnapshot<Value>.Segment {
        // Changed in place: a copy of the last segment would copy all earlier pages for each page.
        if !isEmpty, self[count - 1].range.upperBound == position, self[count - 1].isHeld == isHeld {
            self[count - 1].items.append(values)
        } else {
            append(ListSnapshot.Segment(offset: position, items: PagedItems([values]), isHeld: isHeld))
        }
    }
}
