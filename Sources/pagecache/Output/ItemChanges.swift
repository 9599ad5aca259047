#if Tool
import PageModel
import PageStore

/// The changes in a part of a journal, each with the bytes of its item right after the change.
///
/// The journal has the bytes before a change only. The bytes after it are those before the next change of the same
/// item, or the present ones if there is no such change. So the position of each item is followed through the later
/// entries. This works for lists without ids, too.
struct ItemChanges {
    /// The changes, in order. Consecutive loads are joined into ranges, ascending by position. So are consecutive
    /// drops.
    private(set) var all: [ItemChange] = []
    /// The present positions of items with unknown bytes, each with the indices of the changes that wait for them.
    private var waiting: [Int: [Int]] = [:]

    /// Reads the changes of journal entries. A change has the bytes of its item if a later entry contains them;
    /// `readItems` adds the missing bytes.
    init(_ entries: [JournalEntry] = []) { add(entries) }

    /// Appends the changes of the next entries.
    mutating func add(_ entries: [JournalEntry]) {
        var ranges: [Range<Int>] = []
        var kind = ItemChange.Kind.loaded
        var last: JournalEntry?
        func flush() {
            guard let entry = last, !ranges.isEmpty else { return }
            all += Coverage(ranges).segments.map { ItemChange(kind, $0, entry) }
            ranges = []
        }
        func collect(_ range: Range<Int>, _ next: ItemChange.Kind, _ entry: JournalEntry) {
            if next != kind { flush() }
            (kind, last) = (next, entry)
            ranges.append(range)
        }
        for entry in entries {
            for change in entry.changes {
                follow(change)
                switch change {
                case .loaded(let range): collect(range, .loaded, entry)
                case .dropped(let range): collect(range, .dropped, entry)
                case .generationBegan:
                    flush()
                    all.append(ItemChange(kind: .replaced, at: entry.at, version: entry.version))
                case .rearranged(let parts):
                    flush()
                    append(parts, entry)
                }
            }
        }
        flush()
    }

    /// Reads later entries without appending their changes: they only show bytes and move positions.
    mutating func follow(_ entries: [JournalEntry]) {
        for entry in entries { for change in entry.changes { follow(change) } }
    }

    private mutating func append(_ parts: JournalRearrangement, _ entry: JournalEntry) {
        all += parts.deleted.map { one in
            ItemChange(
                kind: .deleted, offset: one.position, count: 1, id: one.item.id, idType: one.item.idType,
                before: one.item.payload, at: entry.at, version: entry.version)
        }
        func append(_ change: ItemChange, at position: Int) {
            waiting[position, default: []].append(all.count)
            all.append(change)
        }
        for one in parts.inserted {
            append(
                ItemChange(
                    kind: .inserted, offset: one.position, count: 1, id: one.id, idType: one.idType, at: entry.at,
                    version: entry.version), at: one.position)
        }
        for one in parts.moved {
            append(
                ItemChange(
                    kind: .moved, offset: one.to, from: one.from, count: 1, id: one.id, idType: one.idType,
                    at: entry.at, version: entry.version), at: one.to)
        }
        for one in parts.edited {
            append(
                ItemChange(
                    kind: .edited, offset: one.to, from: one.from, count: 1, id: one.before.id,
                    idType: one.before.idType, before: one.before.payload, at: entry.at, version: entry.version),
                at: one.to)
        }
    }

    private mutating func follow(_ change: JournalChange) {
        guard !waiting.isEmpty else { return }
        switch change {
        case .loaded: break
        // The bytes of dropped items are lost.
        case .dropped(let range): waiting = waiting.filter { !range.contains($0.key) }
        case .generationBegan: waiting = [:]
        case .rearranged(let parts):
            for one in parts.deleted { setBytes(one.position, with: one.item.payload) }
            for one in parts.edited { setBytes(one.from, with: one.before.payload) }
            var moved: [Int: [Int]] = [:]
            for one in parts.moved {
                if let indices = waiting.removeValue(forKey: one.from) { moved[one.to, default: []] += indices }
            }
            for (position, indices) in waiting {
                if let position = parts.newPosition(of: position) { moved[position, default: []] += indices }
            }
            waiting = moved
        }
    }

    private mutating func setBytes(_ position: Int, with bytes: [UInt8]) {
        for index in waiting.removeValue(forKey: position) ?? [] { all[index].item = bytes }
    }

    // MARK: The present bytes

    /// The largest number of attempts to read the items. Each attempt fails when the list changes meanwhile.
    private static let attempts = 5

    /// Reads the present bytes of the items that no later entry changed. An item that the store no longer holds stays
    /// without bytes. All of these items stay without bytes if the list changes during each attempt.
    /// - Parameter version: the version after the last entry.
    mutating func readItems(
        of query: QueryID, in store: any ToolStore, at version: ContentVersion
    ) async throws(StorageError) {
        var version = version
        for _ in 0..<ItemChanges.attempts where !waiting.isEmpty {
            if let items = try await items(of: query, in: store, at: version) {
                for (position, indices) in waiting {
                    guard let item = items[position] else { continue }
                    for index in indices where all[index].id == nil || all[index].id == item.id {
                        all[index].item = item.bytes
                    }
                }
                return
            }
            while true {
                guard
                    case .entries(let entries, let reached, let hasMore)? = try await store.changes(
                        of: query, since: version, limit: 1_000)
                else { return }
                follow(entries)
                version = reached
                if !hasMore { break }
            }
        }
    }

    /// The items at the waiting positions. Returns nil when the list has another version, and no items when the list
    /// was purged.
    private func items(
        of query: QueryID, in store: any ToolStore, at version: ContentVersion
    ) async throws(StorageError) -> [Int: (id: String?, bytes: [UInt8])]? {
        var items: [Int: (id: String?, bytes: [UInt8])] = [:]
        for range in Coverage(waiting.keys.map { $0..<$0 + 1 }).segments {
            guard let window = try await store.window(of: query, range) else { return [:] }
            guard window.contentVersion == version else { return nil }
            for part in window.parts where part.isHeld {
                for index in 0..<part.content.count {
                    let bytes = part.content.bytes[part.content.byteRange(of: index)]
                    items[part.offset + index] = (part.content.ids[index], Array<UInt8>(bytes))
                }
            }
        }
        return items
    }
}

extension ItemChange {
    /// The change of a range as a whole.
    fileprivate init(_ kind: Kind, _ range: Range<Int>, _ entry: JournalEntry) {
        self.init(
            kind: kind, offset: range.lowerBound, count: range.upperBound == .max ? nil : range.count, at: entry.at,
            version: entry.version)
    }
}
#endif
