#if Tool
import PageModel

/// The positions that `show` writes.
struct ShownPositions {
    let offset: Int
    /// The number of items; `Int.max` means all.
    let limit: Int

    /// The position after the last requested one. `nil` when that position exceeds `Int.max`.
    private var end: Int? {
        let (end, overflows) = offset.addingReportingOverflow(limit)
        return overflows ? nil : end
    }

    func range(of list: ListOutline) -> Range<Int> {
        let length = list.shownLength
        return offset..<max(offset, min(length, end ?? length))
    }

    /// Whether the request includes positions after the last known one.
    func exceeds(_ list: ListOutline) -> Bool { end.map { $0 > list.shownLength } ?? true }
}

extension ListOutline {
    /// The length of the list, or the end of its stored pages if that is larger.
    var shownLength: Int { max(length, pages.last?.range.upperBound ?? 0) }

    /// The sentence about the items and the missing positions from `position` on. `nil` when the list has no further
    /// position.
    func rest(from position: Int) -> String? {
        let range = position..<max(position, reachableLength)
        let missing = coverage.gaps(in: range).reduce(0) { $0 + $1.count }
        let more = range.count - missing
        let sentences = [
            more > 0 ? "\(SizeText.count(more)) more; --limit and --offset show them" : nil,
            missing > 0
                ? "\(SizeText.count(missing, "position is", "positions are")) missing or old; 'pagecache pages \(record.key.shortID)' shows them"
                : nil,
        ].compactMap { $0 }
        return sentences.isEmpty ? nil : sentences.joined(separator: "; ")
    }
}

/// Writes the requested items of a list, piece by piece. One transaction reads all pieces.
struct ShowWriting {
    /// The largest number of items in a piece, so that memory does not grow with the list.
    static let pieceSize = 1_000

    /// The result of writing.
    struct Written {
        /// The list as of the transaction, without its items.
        var list: ListOutline
        var range: Range<Int>
        /// The written positions of the present generation of the list.
        var held: [Range<Int>] = []
        var damaged: [Range<Int>] = []
    }

    private var writer: ItemWriter
    private let positions: ShownPositions
    private var pieces: ArraySlice<Range<Int>> = []
    private var written: Written?

    init(_ writer: ItemWriter, _ positions: ShownPositions) {
        self.writer = writer
        self.positions = positions
    }

    /// Writes a piece, and returns the positions of the next one. Returns nil after the last piece.
    /// - Parameter piece: the piece read last. `nil` before the first.
    mutating func next(_ list: ListOutline, after piece: ListWindow?) throws -> Range<Int>? {
        if written == nil {
            let range = positions.range(of: list)
            written = Written(list: list, range: range)
            note(list.damaged)
            pieces = ShowWriting.pieces(of: list, range)[...]
            try writer.begin()
        }
        if let piece { try write(piece) }
        return pieces.popFirst()
    }

    private mutating func write(_ piece: ListWindow) throws(ToolFailure) {
        try writer.write(piece)
        written?.held += piece.parts.filter(\.isHeld).map(\.range)
        note(piece.damaged)
    }

    /// Adds damage inside the requested range. A range that the outline and a piece both name is added once.
    private mutating func note(_ damaged: [Range<Int>]) {
        guard let range = written?.range else { return }
        for one in damaged where one.isEmpty ? range.contains(one.lowerBound) : one.overlaps(range) {
            let one = one.clamped(to: range)
            if written?.damaged.contains(one) == false { written?.damaged.append(one) }
        }
    }

    /// Ends the output. Returns nil when no list was read.
    func finish() throws -> Written? {
        guard let written else { return nil }
        try writer.end()
        return written
    }

    /// The ranges that contain pages, in pieces of at most `pieceSize` positions. The length of the list is not used as
    /// a bound: it comes from an origin, and may be any number.
    private static func pieces(of list: ListOutline, _ range: Range<Int>) -> [Range<Int>] {
        Coverage(list.pages.map(\.range)).segments.flatMap { segment in
            let segment = segment.clamped(to: range)
            return stride(from: segment.lowerBound, to: segment.upperBound, by: pieceSize).map {
                $0..<min($0 + pieceSize, segment.upperBound)
            }
        }
    }
}
#endif
