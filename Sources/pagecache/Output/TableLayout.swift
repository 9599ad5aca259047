#if Tool
/// Rows of texts laid out for people, in so many columns of a terminal: pure.
///
/// What is cut off must not mislead: numbers and ids are shown whole, and only texts are cut, each to a few characters
/// at least. Columns that do not fit then are left out, those that say nothing first, then the minor ones, then from
/// the right. Where not even three of them fit, nothing is left out and nothing is cut: the rows stand one below
/// another, a line or more for each value.
struct TableLayout {
    struct Column: Equatable {
        var heading: String
        /// Stands at the right, so that digits stand below one another.
        var isNumber = false
        /// Means something else, or nothing, when it is cut off.
        var isWhole = false
        /// A text is not cut below this.
        var least = TableLayout.narrowest
        /// What is left out is left out of its middle.
        var isCutInside = false
        /// Missed less than others.
        var isMinor = false
    }

    /// A text is not cut below this, unless its column says otherwise.
    static let narrowest = 6
    /// A table of fewer columns, of those that there are, is none.
    private static let fewest = 3
    /// What stands where there is nothing to say.
    static let nothing = "–"

    private let columns: [Column]
    private let width: Int
    /// Of each column, how wide it is.
    private var widths: [Int]
    /// The columns that are shown, in order.
    private(set) var shown: [Int]
    /// Whether rows stand one below another.
    let isStacked: Bool

    /// - Parameters:
    ///   - rows: what decides how wide the columns are; texts that are fit for a terminal (R46).
    ///   - width: columns of the terminal; `Int.max` where there is none.
    init(_ columns: [Column], rows: [[String]], width: Int) {
        self.columns = columns
        self.width = width
        widths = columns.indices.map { index in
            max(TextWidth.columns(columns[index].heading), rows.map { TextWidth.columns($0[index]) }.max() ?? 0)
        }
        let natural = widths
        let least = columns.indices.map { index in
            columns[index].isNumber || columns[index].isWhole
                ? natural[index] : min(natural[index], columns[index].least)
        }
        func sum(_ widths: [Int], _ shown: [Int]) -> Int {
            shown.reduce(0) { $0 + widths[$1] } + 2 * max(0, shown.count - 1)
        }
        var shown = Array(columns.indices)
        while sum(least, shown) > width, shown.count > min(TableLayout.fewest, columns.count) {
            let silent = shown.lastIndex { index in
                rows.allSatisfy { $0[index] == TableLayout.nothing || $0[index].isEmpty }
            }
            shown.remove(at: silent ?? shown.lastIndex { columns[$0].isMinor } ?? shown.count - 1)
        }
        isStacked = sum(least, shown) > width
        self.shown = isStacked ? Array(columns.indices) : shown
        // From the widest text, which is the one with the most to spare.
        while !isStacked, sum(widths, shown) > width,
            let widest = shown.filter({ widths[$0] > least[$0] }).max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
        }
    }

    /// Headings of what is left out.
    var leftOut: [String] { columns.indices.filter { !shown.contains($0) }.map { columns[$0].heading } }

    /// The line above a table; nil above rows that stand one below another.
    /// - Parameter bold: makes a heading of a text.
    func heading(bold: (String) -> String = { $0 }) -> String? {
        isStacked ? nil : bold(line(columns.map(\.heading)))
    }

    /// The lines of one row.
    func lines(of row: [String], bold: (String) -> String = { $0 }) -> [String] {
        guard isStacked else { return [line(row)] }
        return shown.filter { row[$0] != TableLayout.nothing && !row[$0].isEmpty }.flatMap { index in
            let heading = columns[index].heading
            let lines = TableLayout.wrapped("\(heading) \(row[index])", width: width)
            guard let first = lines.first, first.hasPrefix(heading) else { return lines }
            return [bold(heading) + first.dropFirst(heading.count)] + lines.dropFirst()
        }
    }

    private func line(_ row: [String]) -> String {
        let padded = shown.map { index in
            let column = columns[index]
            let text =
                column.isNumber
                ? row[index]
                : column.isCutInside
                    ? TextWidth.cutInside(row[index], to: widths[index]) : TextWidth.cut(row[index], to: widths[index])
            let space = String(repeating: " ", count: max(0, widths[index] - TextWidth.columns(text)))
            return columns[index].isNumber ? space + text : text + space
        }
        var line = padded.joined(separator: "  ")
        while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
        return line
    }

    /// A text in lines, broken at spaces where there are any; those behind the first stand two columns in.
    static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var rest = text[...]
        while true {
            let margin = lines.isEmpty || width < 4 ? "" : "  "
            let room = max(1, width - margin.count)
            guard TextWidth.columns(rest) > room else { return lines + [margin + rest] }
            let piece = TextWidth.prefix(rest, columns: room)
            // A space right behind the line is as good as one in it.
            if let space = rest[...piece.endIndex].lastIndex(of: " "), space > rest.startIndex {
                lines.append(margin + rest[..<space])
                rest = rest[rest.index(after: space)...]
            } else {
                // What is wider than the terminal has a line of its own all the same.
                let piece = piece.isEmpty ? rest.prefix(1) : piece
                lines.append(margin + piece)
                rest = rest[piece.endIndex...]
            }
        }
    }
}
#endif
