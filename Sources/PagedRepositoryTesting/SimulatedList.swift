import PageModel

/// The items of a simulated origin, and the changes to them, as a plain value.
struct SimulatedList: Sendable {
    struct Entry: Hashable, Sendable {
        /// The number from which the id of the item is made. For an item without an id, the payload contains the
        /// number.
        var name: Int
        /// The number of edits of the item, plus 1.
        var version: Int
        var key: SortKey
        /// Whether answers leave the item out.
        var isHidden = false
    }

    private let identity: OriginPlan.Identity
    private let behaviour: OriginBehaviour
    private let seed: UInt64
    private let pageSize: Int
    /// The items, ascending by key.
    private(set) var entries: [Entry] = []
    /// The number of items ever made. Names are not reused (but see `OriginPlan.Identity.repeating`).
    private var made = 0

    init(_ plan: OriginPlan) {
        identity = plan.identity
        behaviour = plan.behaviour
        seed = plan.seed
        pageSize = max(plan.pageSize, 1)
        insert(plan.count, at: 0)
    }

    /// The number of items, including hidden ones.
    var count: Int { entries.count }

    /// The number of visible items.
    var shownCount: Int { entries.count { !$0.isHidden } }

    /// The visible items.
    var items: [RawItem] { entries.filter { !$0.isHidden }.map { item($0) } }

    /// Returns the items of an answer.
    /// - Parameter answer: the number of the answer, which selects the order of JSON members if the behaviour shuffles
    ///   them. Defaults to 0.
    func content(_ range: Range<Int>, answer: Int = 0) -> PageContent {
        PageContent(entries[range].filter { !$0.isHidden }.map { item($0, answer: answer) })
    }

    /// Returns the index of the first item after this key.
    func index(behind key: SortKey) -> Int { entries.firstIndex { $0.key > key } ?? entries.endIndex }

    private func item(_ entry: Entry, answer: Int = 0) -> RawItem {
        if behaviour.shufflesMembers || behaviour.hasAlikeIDs { return spelled(entry, answer) }
        return switch identity {
        case .ids, .repeating:
            RawItem(payload: Array(#"{"id":"i\#(entry.name)","v":\#(entry.version)}"#.utf8), id: "i\(entry.name)")
        case .none:
            RawItem(payload: Array(#"{"n":\#(entry.name),"v":\#(entry.version)}"#.utf8))
        }
    }

    /// Returns the item as written by an origin whose JSON members have no fixed order.
    private func spelled(_ entry: Entry, _ answer: Int) -> RawItem {
        let isText = behaviour.hasAlikeIDs ? !entry.name.isMultiple(of: 2) : true
        let number = behaviour.hasAlikeIDs ? "\(entry.name / 2)" : "i\(entry.name)"
        let id = isText ? "\"\(number)\"" : number
        var members = [#""id":\#(id)"#, #""v":\#(entry.version)"#, #""n":\#(entry.name)"#]
        if behaviour.shufflesMembers { members.swapAt(answer % 3, (answer + entry.name) / 3 % 3) }
        return RawItem(
            payload: Array("{\(members.joined(separator: ","))}".utf8), id: behaviour.hasAlikeIDs ? id : number)
    }

    /// Returns the item in a form for comparison, with its members in one order.
    static func canonical(_ item: RawItem) -> RawItem {
        var item = item
        let text = String(decoding: item.payload, as: UTF8.self).dropFirst().dropLast()
        item.payload = Array("{\(text.split(separator: ",").sorted().joined(separator: ","))}".utf8)
        return item
    }

    /// Returns the same items in another order, which depends on the seed and on `number`.
    func reordered(_ number: Int) -> SimulatedList {
        var list = self
        _ = list.resort(seed ^ (UInt64(number) &* 0x9e37))
        return list
    }

    /// Returns whether the item with this name is hidden from its creation on.
    private func isHidden(_ name: Int) -> Bool {
        func isDrawn(_ number: Int, _ percent: Int) -> Bool {
            var random = SeededGenerator(seed: seed ^ 0x41d3, stream: UInt64(number))
            return random.isLikely(percent)
        }
        return switch behaviour.hiding {
        case .nothing: false
        case .some(let percent): !name.isMultiple(of: pageSize) && isDrawn(name, percent)
        // Page one is not empty at first.
        case .groups(let count, let percent): name >= count && isDrawn(name / max(count, 1), percent)
        }
    }

    // MARK: Changing

    /// Applies a change. Returns false when it had no effect.
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
        case .hide(let place, let count):
            let start = place.number(of: self.count)
            let hidden = (start..<min(start + max(count, 0), self.count)).filter { !entries[$0].isHidden }
            for index in hidden { entries[index].isHidden = true }
            return !hidden.isEmpty
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
            return Entry(name: name, version: 1, key: key, isHidden: isHidden(name))
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

    /// Shuffles the items over the existing keys (Fisher and Yates).
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
