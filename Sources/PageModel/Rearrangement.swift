/// The new layout of a list in pieces: kept positions, new items and gaps. One value describes everything that moves
/// positions: shift, splice, trim or a new gap. A repair is therefore one step, however many changes it contains.
public struct Rearrangement: Hashable, Sendable {
    /// One stretch of the new list.
    public enum Piece: Hashable, Sendable {
        /// Positions of the old list. They ascend over all pieces, and positions that no piece keeps are removed. An
        /// upper bound of `Int.max` means all positions to the end.
        case kept(Range<Int>)
        /// A page that is new at this place. `from` names the old position of each item, or `nil` for an unknown item;
        /// an empty array means that all are unknown. The page's offset is its position in the new list.
        case written(PageWrite, from: [Int?])
        /// This many positions that exist and are not held.
        case gap(Int)
    }

    /// The pieces of the new list, from position 0 on.
    public var pieces: [Piece]

    /// Creates a rearrangement with these pieces, from position 0 on.
    public init(_ pieces: [Piece]) {
        self.pieces = pieces
    }

    /// Returns a rearrangement that replaces these positions by one new page with the same items.
    public static func replacing(_ range: Range<Int>, with page: PageWrite) -> Rearrangement {
        let before: [Piece] = range.lowerBound > 0 ? [.kept(0..<range.lowerBound)] : []
        return Rearrangement(before + [.written(page, from: Array(range)), .kept(range.upperBound..<Int.max)])
    }

    /// A stretch of positions that stays together, and its distance.
    public struct Move: Hashable, Sendable {
        /// The old positions.
        public var range: Range<Int>
        /// New position minus old position; negative towards the head.
        public var distance: Int
    }

    /// Returns the kept stretches in the order of the list. Returns `nil` when the pieces contradict each other or
    /// exceed the range of positions.
    public func kept() -> [Move]? {
        var moves: [Move] = []
        var taken = 0
        var position = 0
        for piece in pieces {
            guard position < Int.max else { return nil }  // no piece may follow an open-ended one
            switch piece {
            case .kept(let range):
                guard range.lowerBound >= taken, range.lowerBound <= ListTotal.largest else { return nil }
                moves.append(Move(range: range, distance: position - range.lowerBound))
                taken = range.upperBound
                position = range.upperBound == .max ? .max : position + range.count
            case .written(let page, let from):
                guard page.offset == position, from.isEmpty || from.count == page.content.count else { return nil }
                position += page.content.count
            case .gap(let count):
                guard count >= 0, count <= ListTotal.largest else { return nil }
                position += count
            }
            guard position == .max || position <= ListTotal.largest else { return nil }
        }
        return moves
    }

    /// Whether positions change, so that older plans have to be made again (R4).
    public var movesPositions: Bool {
        guard let moves = kept(), moves.last?.range.upperBound == .max else { return true }
        return moves.contains { $0.distance != 0 }
            || pieces.contains { if case .gap(let count) = $0 { count > 0 } else { false } }
    }

    /// The first position at which the new list differs; `nil` when the lists are equal.
    public var firstChange: Int? {
        var position = 0
        for piece in pieces {
            guard case .kept(let range) = piece, range.lowerBound == position else { return position }
            position = range.upperBound
        }
        return position == .max ? nil : position
    }

    /// The new positions where pieces meet, ascending. `isWritten` says whether the following piece is written, so that
    /// its page carries its own evidence.
    public var seams: [(position: Int, isWritten: Bool)] {
        var seams: [(position: Int, isWritten: Bool)] = []
        var position = 0
        for piece in pieces {
            switch piece {
            case .kept(let range):
                seams.append((position, false))
                position = range.upperBound == .max ? .max : position + range.count
            case .written(let page, _):
                seams.append((position, true))
                position += page.content.count
            case .gap(let count):
                position += count
            }
        }
        // The first piece meets no other piece if it keeps its place at position 0.
        if case .kept(let first) = pieces.first, first.lowerBound == 0 { seams.removeFirst() }
        return seams
    }

    /// The old positions that no piece keeps. The last range is open when the end of the list is removed.
    public var takenOut: [Range<Int>] {
        var out: [Range<Int>] = []
        var position = 0
        for case .kept(let range) in pieces {
            if range.lowerBound > position { out.append(position..<range.lowerBound) }
            position = max(position, range.upperBound)
        }
        if position < .max { out.append(position..<Int.max) }
        return out
    }
}

extension ListEdit {
    /// Returns an edit that replaces the positions in the range by a page, or removes them if the page is `nil`.
    /// Positions after the range shift by the difference.
    public static func splice(_ range: Range<Int>, _ page: PageWrite?) -> ListEdit {
        var pieces: [Rearrangement.Piece] = []
        if range.lowerBound != 0 { pieces.append(.kept(min(0, range.lowerBound)..<range.lowerBound)) }
        if let page { pieces.append(.written(page, from: [])) }
        pieces.append(.kept(range.upperBound..<Int.max))
        return .rearrange(Rearrangement(pieces))
    }
}

/// The effect of a rearrangement, in a form for animations in a user interface. Old positions are those before the
/// rearrangement; new positions are those after it.
public struct ListDifference: Hashable, Sendable {
    /// An item whose position changed.
    public struct Move: Hashable, Sendable {
        /// The item's old position.
        public var from: Int
        /// The item's new position.
        public var to: Int

        /// Creates a move.
        public init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// Old positions that were removed. The last range may be open, up to the end of the old list.
    public var removed: [Range<Int>] = []
    /// New positions with items that the list did not hold.
    public var inserted: [Range<Int>] = []
    /// New positions that are gaps.
    public var opened: [Range<Int>] = []
    /// Items whose place among their neighbours changed.
    public var moved: [Move] = []
    /// Items that kept their place among their neighbours and were written again. A commit reports only those whose
    /// bytes changed.
    public var rewritten: [Move] = []

    /// A difference without changes.
    public init() {}

    /// The difference that this rearrangement makes, without a comparison of the items.
    public init(_ rearrangement: Rearrangement) { self.init(rearrangement, takenOut: []) }

    /// The difference that this rearrangement makes. Items with the same place and the same bytes as before are not
    /// part of it.
    /// - Parameters:
    ///   - rearrangement: the new layout of the list.
    ///   - takenOut: the pages that were held at positions which no piece keeps, by offset. Items of other pages count
    ///     as changed.
    package init(_ rearrangement: Rearrangement, takenOut: [JournalDraft.TakenOut]) {
        var before: [Int: ItemIdentity] = [:]
        var places: [UInt64: [Int]] = [:]
        for page in takenOut.reversed() {
            for (index, identity) in page.content.identities.enumerated().reversed() {
                before[page.offset + index] = identity
                places[identity.key, default: []].append(page.offset + index)
            }
        }
        var position = 0
        var taken = 0
        var lastInPlace = -1
        // An item keeps its place if its old position lies between the kept pieces before and after its new position.
        var sources: Set<Int> = []
        let bounds = rearrangement.pieces.compactMap { if case .kept(let range) = $0 { range } else { nil } }
        var next = 0
        for piece in rearrangement.pieces {
            switch piece {
            case .kept(let range):
                taken = range.upperBound
                next += 1
                if range.upperBound < .max { position += range.count }
            case .gap(let count):
                opened.add(position..<position + count)
                position += count
            case .written(let page, let from):
                let around = taken..<max(taken, next < bounds.count ? bounds[next].lowerBound : .max)
                for (index, identity) in page.content.identities.enumerated() {
                    // A page without old positions may hold items that were held before.
                    if let old = from.isEmpty ? places[identity.key]?.popLast() : from[index] {
                        sources.insert(old)
                        let move = Move(from: old, to: position + index)
                        if around.contains(old), old > lastInPlace {
                            lastInPlace = old
                            if before[old] != identity { rewritten.append(move) }
                        } else {
                            moved.append(move)
                        }
                    } else {
                        inserted.add(position + index..<position + index + 1)
                    }
                }
                position += page.content.count
            }
        }
        for range in rearrangement.takenOut {
            var start = range.lowerBound
            for source in sources.filter({ range.contains($0) }).sorted() {
                removed.add(start..<source)
                start = source + 1
            }
            removed.add(start..<range.upperBound)
        }
    }

    /// Whether every item is at its place as before.
    package var isEmpty: Bool {
        removed.isEmpty && inserted.isEmpty && opened.isEmpty && moved.isEmpty && rewritten.isEmpty
    }
}

extension ChangeSet.Change {
    /// The change of a rearrangement, for observers. If one page is stored again with the same items, for example in
    /// place of several pages, the change is `confirmed` (R6).
    /// - Parameters:
    ///   - rearrangement: the new layout of the list.
    ///   - takenOut: the pages that were held at positions which no piece keeps, by offset.
    package static func rearrangement(
        _ rearrangement: Rearrangement, _ takenOut: [JournalDraft.TakenOut]
    ) -> ChangeSet.Change {
        let difference = ListDifference(rearrangement, takenOut: takenOut)
        let written = rearrangement.pieces.compactMap { if case .written(let page, _) = $0 { page.range } else { nil } }
        return difference.isEmpty && written.count == 1 ? .confirmed(written[0]) : .rearranged(difference)
    }
}

extension [Range<Int>] {
    /// Appends a range, and joins it with the last one if they touch.
    mutating func add(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        if let last, last.upperBound == range.lowerBound {
            self[count - 1] = last.lowerBound..<range.upperBound
        } else {
            append(range)
        }
    }
}
