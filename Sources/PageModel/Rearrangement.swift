/// A list as it shall be, piece by piece: what stays, what is new, what is not known. One value for everything that
/// moves positions (shift, splice, trim, open a gap), so that a repair is one step however many changes it mends.
public struct Rearrangement: Hashable, Sendable {
    /// One stretch of the list as it shall be.
    public enum Piece: Hashable, Sendable {
        /// Positions of the list as it is. Over all pieces these ascend; what no piece keeps is taken out. `Int.max` as
        /// the upper bound means everything behind.
        case kept(Range<Int>)
        /// Items that are new here. `from` names for each of them where the list held it until now, or nil; an empty
        /// array means that none was known. The page's offset is where it comes to lie.
        case written(PageWrite, from: [Int?])
        /// Positions that exist and are not held.
        case gap(Int)
    }

    /// The list as it shall be, from position 0 on.
    public var pieces: [Piece]

    /// The list that these pieces make, one behind the other.
    public init(_ pieces: [Piece]) {
        self.pieces = pieces
    }

    /// The list with these positions as one new page that holds what they hold.
    public static func replacing(_ range: Range<Int>, with page: PageWrite) -> Rearrangement {
        let before: [Piece] = range.lowerBound > 0 ? [.kept(0..<range.lowerBound)] : []
        return Rearrangement(before + [.written(page, from: Array(range)), .kept(range.upperBound..<Int.max)])
    }

    /// A stretch that stays together, and how far it moves.
    public struct Move: Hashable, Sendable {
        /// The positions it had.
        public var range: Range<Int>
        /// How far it moves: new position minus old; negative towards the head.
        public var distance: Int
    }

    /// The stretches that stay, in the order of the list; nil when the pieces contradict each other or lead beyond the
    /// positions there are.
    public func kept() -> [Move]? {
        var moves: [Move] = []
        var taken = 0
        var position = 0
        for piece in pieces {
            guard position < Int.max else { return nil }  // nothing comes behind "everything behind"
            switch piece {
            case .kept(let range):
                guard range.lowerBound >= taken, range.lowerBound <= Total.largest else { return nil }
                moves.append(Move(range: range, distance: position - range.lowerBound))
                taken = range.upperBound
                position = range.upperBound == .max ? .max : position + range.count
            case .written(let page, let from):
                guard page.offset == position, from.isEmpty || from.count == page.content.count else { return nil }
                position += page.content.count
            case .gap(let count):
                guard count >= 0, count <= Total.largest else { return nil }
                position += count
            }
            guard position == .max || position <= Total.largest else { return nil }
        }
        return moves
    }

    /// Whether positions are others afterwards, so that plans made before must be made again (R4).
    public var movesPositions: Bool {
        guard let moves = kept(), moves.last?.range.upperBound == .max else { return true }
        return moves.contains { $0.distance != 0 }
            || pieces.contains { if case .gap(let count) = $0 { count > 0 } else { false } }
    }

    /// The first position at which the list is another afterwards; nil when it is the same.
    public var firstChange: Int? {
        var position = 0
        for piece in pieces {
            guard case .kept(let range) = piece, range.lowerBound == position else { return position }
            position = range.upperBound
        }
        return position == .max ? nil : position
    }

    /// Where pieces meet, in new positions, ascending, and whether what follows is written, so that its page says
    /// itself why it stands there.
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
        // Before the first piece there is nothing to meet, as long as it stays what it was.
        if case .kept(let first) = pieces.first, first.lowerBound == 0 { seams.removeFirst() }
        return seams
    }

    /// The old positions that no piece keeps; the last range is open when the end of the list goes.
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
    /// Replaces the positions in the range, shifting what lies behind by the difference.
    public static func splice(_ range: Range<Int>, _ page: PageWrite?) -> ListEdit {
        var pieces: [Rearrangement.Piece] = []
        if range.lowerBound != 0 { pieces.append(.kept(min(0, range.lowerBound)..<range.lowerBound)) }
        if let page { pieces.append(.written(page, from: [])) }
        pieces.append(.kept(range.upperBound..<Int.max))
        return .rearrange(Rearrangement(pieces))
    }
}

/// What a rearrangement did, as a user interface animates it. Old positions are those before it, new ones those after.
public struct ListDifference: Hashable, Sendable {
    /// An item that stands elsewhere.
    public struct Move: Hashable, Sendable {
        /// Where it stood, in old positions.
        public var from: Int
        /// Where it stands, in new positions.
        public var to: Int

        /// A move; each parameter is the property of its name.
        public init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// Old positions that are gone. The last range may be open: up to the end of the list, wherever that was.
    public var removed: [Range<Int>] = []
    /// New positions with items that the list did not hold.
    public var inserted: [Range<Int>] = []
    /// New positions of which nothing is held.
    public var opened: [Range<Int>] = []
    /// Items that are elsewhere now, in relation to those around them.
    public var moved: [Move] = []
    /// Items that are where they were between their neighbours, and were sent anew.
    public var rewritten: [Move] = []

    /// Nothing is another.
    public init() {}

    /// What becomes another by this rearrangement.
    public init(_ rearrangement: Rearrangement) {
        var position = 0
        var taken = 0
        // What was taken out before the next stretch that stays: an item from there is where it was.
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
                for index in 0..<page.content.count {
                    if let old = from.isEmpty ? nil : from[index] {
                        sources.insert(old)
                        let move = Move(from: old, to: position + index)
                        if around.contains(old), rewritten.last.map({ $0.from < old }) ?? true {
                            rewritten.append(move)
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
}

extension [Range<Int>] {
    /// Appends a range, joined with the last one where they touch.
    mutating func add(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        if let last, last.upperBound == range.lowerBound {
            self[count - 1] = last.lowerBound..<range.upperBound
        } else {
            append(range)
        }
    }
}
