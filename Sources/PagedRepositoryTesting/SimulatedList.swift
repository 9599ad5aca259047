import PageModel

/// The items of a simulated origin, and what changes do to them. A plain value.
struct SimulatedList: Sendable {
    struct Entry: Hashable, Sendable {
        /// What its id is made of. Items without ids have it in their payload.
        var name: Int
        /// Counts its edits, from 1.
        var version: Int
        var key: SortKey
    }

    private let identity: OriginPlan.Identity
    /// Ascending by key.
    private(set) var entries: [Entry] = []
    /// How many items were ever made: names are not given twice (but see `OriginPlan.Identity.repeating`).
    private var made = 0

    init(count: Int, identity: OriginPlan.Identity) {
        self.identity = identity
        insert(count, at: 0)
    }

    var count: Int { entries.count }

    var items: [Item] { entries.map(item) }

    func content(_ range: Range<Int>) -> PageContent { PageContent(entries[range].map(item)) }

    /// The index of the first item behind this key.
    func index(behind key: SortKey) -> Int { entries.firstIndex { $0.key > key } ?? entries.endIndex }

    private func item(_ entry: Entry) -> Item {
        switch identity {
        case .ids, .repeating:
            Item(payload: Array(#"{"id":"i\#(entry.name)","v":\#(entry.version)}"#.utf8), id: "i\(entry.name)")
        case .none:
            Item(payload: Array(#"{"n":\#(entry.name),"v":\#(entry.version)}"#.utf8))
        }
    }

    // MARK: Changing

    /// False when there was nothing to change.
    mutating func apply(_ change: OriginChange) -> Bool {
        switch change {
        case .insert(let place, let count):
            return insert(count, at: place.number(of: self.count + 1))
        case .append(let count):
            return insert(count, at: self.count)
        case .delete(let place, let count):
            let start = place.number(of: self.count)
            let range = start..<min(start + max(count, 0), self.count)
            entries.removeSubrange(range)
            return !range.isEmpty
        case .move(let from, let to):
            return move(from.number(of: count), to.number(of: count))
        case .edit(let place):
            guard !entries.isEmpty else { return false }
            entries[place.number(of: count)].version += 1
            return true
        case .resort(let seed):
            return resort(seed)
        case .replaceAll(let count):
            let hadItems = !entries.isEmpty
            entries = []
            return insert(count, at: 0) || hadItems
        }
    }

    @discardableResult
    private mutating func insert(_ count: Int, at index: Int) -> Bool {
        var names = Set(entries.map(\.name))
        let keys = SortKey.spread(count, between: key(before: index), and: key(at: index))
        let new = keys.map { key in
            defer { made += 1 }
            let isTwin = identity == .repeating && made % 7 == 6 && names.contains(made - 4)
            let name = isTwin ? made - 4 : made
            names.insert(name)
            return Entry(name: name, version: 1, key: key)
        }
        entries.insert(contentsOf: new, at: index)
        return !new.isEmpty
    }

    private mutating func move(_ from: Int, _ to: Int) -> Bool {
        guard from != to else { return false }
        var entry = entries.remove(at: from)
        entry.key = SortKey.between(key(before: to), key(at: to))
        entries.insert(entry, at: to)
        return true
    }

    /// The keys stay where they are, and the items change places (Fisher and Yates).
    private mutating func resort(_ seed: UInt64) -> Bool {
        let before = entries
        var generator = SeededGenerator(seed: seed)
        for index in entries.indices.dropFirst().reversed() {
            entries.swapAt(index, generator.number(below: index + 1))
        }
        for index in entries.indices { entries[index].key = before[index].key }
        return entries != before
    }

    private func key(before index: Int) -> SortKey? { index > 0 ? entries[index - 1].key : nil }
    private func key(at index: Int) -> SortKey? { index < entries.count ? entries[index].key : nil }
}
