#if Tool
import PageModel

/// Writes a list piece by piece, while one transaction reads it.
struct ExportWriting {
    /// The result of writing.
    struct Written {
        /// The list as of the transaction, without its items.
        var list: ListOutline
        var items = 0
        var itemsCutShort = 0
        /// The written positions of the present generation of the list.
        var held: [Range<Int>] = []
        var damaged: [Range<Int>]
    }

    private var encoder: ItemEncoder
    private let sink: ByteSink
    private var plan: ExportPlan?
    private var written: Written?

    init(_ encoder: ItemEncoder, to sink: ByteSink) {
        self.encoder = encoder
        self.sink = sink
    }

    /// Writes a piece, and returns the positions of the next one. Returns nil after the last piece.
    /// - Parameter piece: the piece read last. `nil` before the first.
    mutating func next(_ list: ListOutline, after piece: ListWindow?) throws -> Range<Int>? {
        if written == nil {
            written = Written(list: list, damaged: list.damaged)
            plan = ExportPlan(list.pages)
            try encoder.begin(sink)
        }
        if let piece { try write(piece) }
        return plan?.nextPiece(after: piece?.parts.reduce(0) { $0 + $1.content.bytes.count })
    }

    private mutating func write(_ piece: ListWindow) throws {
        for part in piece.parts {
            try encoder.write(part.content, to: sink)
            if part.isHeld { written?.held.append(part.range) }
        }
        // The outline already names damaged positions, which must not count twice.
        let known = written?.damaged ?? []
        written?.damaged += piece.damaged.filter { !known.contains($0) }
    }

    /// Ends the output. Returns nil when no list was read.
    func finish() throws -> Written? {
        guard var result = written else { return nil }
        try encoder.end(sink)
        (result.items, result.itemsCutShort) = (encoder.count, encoder.itemsCutShort)
        return result
    }
}
#endif
