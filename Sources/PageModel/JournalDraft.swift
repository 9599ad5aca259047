/// Collects the changes of a commit to a list's items, for the journal (R48). Every storage builds its entries with it,
/// so that all storages record the same changes.
package struct JournalDraft: Sendable {
    /// A page that is taken out of the list, as it was held.
    package typealias TakenOut = (offset: Int, content: PageContent)

    package private(set) var changes: [JournalChange] = []
    /// Whether the entry cannot name the changes. Earlier entries are then useless, and readers have to read the list
    /// again.
    package private(set) var beginsAnew = false
    private let bound: JournalBound
    private var cost = 0

    /// The most bytes of pages that are read for one entry, unless the journal's bound is larger: 32 MiB.
    package static let mostRead = 32 << 20

    package init(_ bound: JournalBound) { self.bound = bound }

    package mutating func loaded(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        if case .loaded(let before)? = changes.last, before.upperBound == range.lowerBound {
            changes[changes.count - 1] = .loaded(before.lowerBound..<range.upperBound)
        } else {
            add(.loaded(range))
        }
    }

    package mutating func dropped(_ range: Range<Int>) {
        if !range.isEmpty { add(.dropped(range)) }
    }

    package mutating func generationBegan() { add(.generationBegan) }

    /// Drops the changes, because a row is damaged or the entry would exceed the journal's bound. Readers then have to
    /// read the list again.
    package mutating func beginAnew() {
        beginsAnew = true
        changes = []
    }

    /// Returns whether the caller has to read pages of this size for the entry. If the pages are too large, the changes
    /// are dropped, and readers have to read the list again.
    package mutating func takesIn(bytes: Int) -> Bool {
        if bytes > max(bound.bytes, JournalDraft.mostRead) { beginAnew() }
        return !beginsAnew
    }

    /// Notes a rearrangement of the list.
    /// - Parameter takenOut: the pages that were held at positions which no piece keeps, by offset.
    package mutating func rearranged(_ rearrangement: Rearrangement, _ takenOut: [TakenOut]) {
        guard !beginsAnew else { return }
        let change = JournalRearrangement(rearrangement, takenOut)
        if !change.isEmpty { add(.rearranged(change)) }
    }

    /// Notes that the positions from `position` on are gone.
    package mutating func truncated(at position: Int, _ takenOut: [TakenOut]) {
        guard !takenOut.isEmpty else { return }
        rearranged(Rearrangement(position > 0 ? [.kept(0..<position)] : []), takenOut)
    }

    private mutating func add(_ change: JournalChange) {
        guard !beginsAnew else { return }
        cost += change.cost
        guard cost <= bound.bytes else { return beginAnew() }
        changes.append(change)
    }
}

extension JournalRearrangement {
    fileprivate var isEmpty: Bool { removed.isEmpty && added.isEmpty && edited.isEmpty }

    /// An item that is taken out of the list or put into it.
    private struct Candidate {
        var position: Int
        /// The number of kept pieces before it.
        var slot: Int
        var identity: ItemIdentity
        var page: Int
        var index: Int
    }

    /// The effect of a rearrangement on the held items.
    /// - Parameter takenOut: the pages that were held at positions which no piece keeps, by offset.
    package init(_ rearrangement: Rearrangement, _ takenOut: [JournalDraft.TakenOut]) {
        self.init()
        let starts = rearrangement.pieces.compactMap { if case .kept(let range) = $0 { range.lowerBound } else { nil } }
        var old: [Candidate] = []
        for (page, taken) in takenOut.enumerated() {
            for (index, identity) in taken.content.identities.enumerated() {
                let position = taken.offset + index
                let slot = starts.firstIndex { $0 > position } ?? starts.count
                old.append(Candidate(position: position, slot: slot, identity: identity, page: page, index: index))
            }
        }
        var new: [Candidate] = []
        var pages: [PageContent] = []
        var (position, slot) = (0, 0)
        for piece in rearrangement.pieces {
            switch piece {
            case .kept(let range):
                slot += 1
                position = range.upperBound == .max ? .max : position + range.count
            case .written(let page, _):
                for (index, identity) in page.content.identities.enumerated() {
                    new.append(
                        Candidate(
                            position: position + index, slot: slot, identity: identity, page: pages.count, index: index)
                    )
                }
                pages.append(page.content)
                added.add(position..<position + page.content.count)
                position += page.content.count
            case .gap(let count):
                added.add(position..<position + count)
                position += count
            }
        }
        let partners = JournalRearrangement.partners(of: new, among: old)
        let staying = JournalRearrangement.staying(new, old, partners)
        removed = rearrangement.takenOut.without(
            new.indices.compactMap { staying[$0] ? old[partners[$0]!].position : nil })
        added = added.without(new.indices.compactMap { staying[$0] ? new[$0].position : nil })
        var isMatched = [Bool](repeating: false, count: old.count)
        for (index, candidate) in new.enumerated() {
            let ids = pages[candidate.page].ids
            let (id, type) = (ids[candidate.index], ids.type(at: candidate.index) ?? .string)
            guard let partner = partners[index] else {
                inserted.append(Insertion(position: candidate.position, id: id, idType: type))
                continue
            }
            isMatched[partner] = true
            let before = old[partner]
            if before.identity.content != candidate.identity.content {
                let item = takenOut[before.page].content.item(at: before.index)
                edited.append(Edit(from: before.position, to: candidate.position, before: item))
            } else if !staying[index] {
                moved.append(Move(from: before.position, to: candidate.position, id: id, idType: type))
            }
        }
        for (index, candidate) in old.enumerated() where !isMatched[index] {
            deleted.append(
                Deletion(position: candidate.position, item: takenOut[candidate.page].content.item(at: candidate.index))
            )
        }
    }

    /// Returns for each new item the index of an old item with the same key, or `nil` without one. Each old item is
    /// matched once.
    private static func partners(of new: [Candidate], among old: [Candidate]) -> [Int?] {
        guard !new.isEmpty, !old.isEmpty else { return Array(repeating: nil, count: new.count) }
        var places: [UInt64: [Int]] = [:]
        for (index, candidate) in old.enumerated().reversed() {
            places[candidate.identity.key, default: []].append(index)
        }
        return new.map { places[$0.identity.key]?.popLast() }
    }

    /// Returns for each new item whether it keeps its place among its neighbours. In each slot, as many items as
    /// possible do.
    private static func staying(_ new: [Candidate], _ old: [Candidate], _ partners: [Int?]) -> [Bool] {
        var staying = [Bool](repeating: false, count: new.count)
        let paired = new.indices.filter { index in partners[index].map { old[$0].slot == new[index].slot } ?? false }
        // Finds the longest ascending sequence. Slots ascend with the positions, so that one pass covers all of them.
        var tails: [Int] = []
        var before = [Int?](repeating: nil, count: new.count)
        for index in paired {
            let from = partners[index]!
            var (low, high) = (0, tails.count)
            while low < high {
                let middle = (low + high) / 2
                if partners[tails[middle]]! < from { low = middle + 1 } else { high = middle }
            }
            if low > 0 { before[index] = tails[low - 1] }
            if low == tails.count { tails.append(index) } else { tails[low] = index }
        }
        var next = tails.last
        while let index = next {
            staying[index] = true
            next = before[index]
        }
        return staying
    }
}

extension [Range<Int>] {
    /// The ranges without these positions, which have to ascend.
    fileprivate func without(_ positions: [Int]) -> [Range<Int>] {
        var left: [Range<Int>] = []
        var rest = positions[...]
        for range in self {
            var start = range.lowerBound
            while let position = rest.first, position < range.upperBound {
                rest = rest.dropFirst()
                if start < position { left.append(start..<position) }
                start = position + 1
            }
            if start < range.upperBound { left.append(start..<range.upperBound) }
        }
        return left
    }
}
