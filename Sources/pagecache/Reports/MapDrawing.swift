#if Tool
/// A coverage map in characters: rows of cells, each row after the position of its first item, and a legend. It is
/// legible without colour, and on a terminal of 20 columns.
struct MapDrawing {
    let map: CoverageMap
    /// The number of columns of the terminal.
    let width: Int
    /// The largest number of rows with cells.
    var rows = 16

    /// - Parameter colour: wraps a text in a colour, given by its code (ECMA-48, "select graphic rendition").
    func lines(colour: (Int, String) -> String) -> [String] {
        guard map.length > 0 else { return ["no position is stored, and none is known to be missing"] }
        let label = SizeText.count(map.length).count
        // One column stays free, because terminals differ in how they handle the end of a line.
        let columns = max(1, width - label - 2)
        let size = CoverageMap.cellSize(for: map.length, atMost: columns * max(1, rows))
        let cells = map.cells(of: size)
        var lines: [String] = []
        for start in stride(from: 0, to: cells.count, by: columns) {
            let row = cells[start..<min(start + columns, cells.count)]
            let number = SizeText.count(row[start].range.lowerBound)
            let space = String(repeating: " ", count: label - number.count)
            let isLast = start + columns >= cells.count
            lines.append(
                "\(space)\(number) \(drawn(row, colour))\(isLast && map.isOpen && row.count < columns ? "…" : "")")
        }
        return lines + [""] + legend(size, colour)
    }

    /// The whole list in one row of at most `count` cells.
    func row(cells count: Int, colour: (Int, String) -> String) -> String {
        drawn(map.cells(of: CoverageMap.cellSize(for: map.length, atMost: count))[...], colour)
    }

    /// Adjacent cells of one colour share one colour code.
    private func drawn(_ cells: ArraySlice<CoverageMap.Interval>, _ colour: (Int, String) -> String) -> String {
        var text = ""
        var rest = cells
        while let first = rest.first {
            let same = rest.prefix { $0.state == first.state }
            text += colour(first.state.colour, String(repeating: first.state.character, count: same.count))
            rest = rest.dropFirst(same.count)
        }
        return text
    }

    private func legend(_ size: Int, _ colour: (Int, String) -> String) -> [String] {
        let entries = map.counts.map { entry in
            let text = "\(entry.state.character) \(entry.state.rawValue) \(SizeText.count(entry.count))"
            return (
                width: text.count,
                text: "\(colour(entry.state.colour, String(entry.state.character)))\(text.dropFirst())"
            )
        }
        let scale = "cell: \(SizeText.count(size)) \(size == 1 ? "item" : "items")"
        var lines: [String] = []
        var used = 0
        for entry in entries + [(width: scale.count, text: scale)] {
            if let last = lines.last, used + 3 + entry.width < width {
                lines[lines.count - 1] = "\(last)   \(entry.text)"
                used += 3 + entry.width
            } else {
                lines.append(entry.text)
                used = entry.width
            }
        }
        return lines + (map.isOpen ? ["the list may continue"] : [])
    }
}

extension CoverageMap.State {
    /// A character for each state, so that the states differ without colour.
    var character: Character {
        switch self {
        case .failing: "!"
        case .gap: "·"
        case .old: "o"
        case .inferred: "▒"
        case .stale: "▓"
        case .fresh: "█"
        }
    }

    fileprivate var colour: Int {
        switch self {
        case .failing: Colour.failing
        case .gap: Colour.missing
        case .old: Colour.old
        case .inferred: Colour.inferred
        case .stale: Colour.stale
        case .fresh: Colour.fresh
        }
    }
}
#endif
