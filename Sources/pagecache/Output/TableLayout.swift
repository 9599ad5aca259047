#if Tool
/// Lays out rows of texts for people, within the columns of a terminal. Pure.
///
/// A cut value must not mislead: numbers and ids stay whole, and only texts are cut, down to a minimum length. When the
/// columns still do not fit, some are left out: first those without a value in any row, then the others by rank. When
/// even the most important columns do not fit, the table shows all columns uncut. Each value then has its own line or
/// lines.
struct TableLayout {
    struct Column: Equatable {
        var heading: String
        /// Whether values are aligned to the right, so that digits line up.
        var isNumber = false
        /// Whether a cut value would be useless or misleading.
        var isWhole = false
        /// The shortest length to which a text is cut.
        var least = TableLayout.narrowest
        /// Whether texts are cut in the middle. A last path segment of up to 23 columns stays whole.
        var isCutInside = false
        /// The order in which columns are left out: the largest rank first, and the last of equal ranks. A column with
        /// rank 0 is left out only when it has no value in any row.
        var rank = 1
        /// Whether a zero counts as no value, as for a number of failures.
        var isCount = false
        /// Whether long texts continue on the next lines instead of being cut. Such a column has rank 0.
        var isWrapped = false
    }

    /// The default for the shortest length of a cut text.
    static let narrowest = 6
    /// The fewest columns of a table, unless it has fewer in all.
    private static let fewest = 3
    /// The columns of the longest path segment that is kept whole, and of the ellipsis before it.
    private static let longestSegment = 24
    /// The text of an empty value.
    static let nothing = "–"

    private let columns: [Column]
    private let width: Int
    /// The width of each column.
    private var widths: [Int]
    /// The shown columns, in order.
    private(set) var shown: [Int]
    /// Whether each value has its own line.
    let isStacked: Bool

    /// - Parameters:
    ///   - rows: the rows that determine the column widths. Their texts must be safe for a terminal (R46).
    ///   - width: the columns of the terminal. `Int.max` without a terminal.
    init(_ columns: [Column], rows: [[String]], width: Int) {
        self.columns = columns
        self.width = width
        widths = columns.indices.map { index in
            max(TextWidth.columns(columns[index].heading), rows.map { TextWidth.columns($0[index]) }.max() ?? 0)
        }
        let natural = widths
        let segments = columns.indices.map { index in
            columns[index].isCutInside ? TableLayout.segment(rows.map { $0[index] }) : 0
        }
        let least = columns.indices.map { index in
            let (column, width) = (columns[index], natural[index])
            return column.isNumber || column.isWhole ? width : min(width, max(column.least, segments[index]))
        }
        func rank(_ column: Int) -> Int { columns[column].isWrapped ? 0 : columns[column].rank }
        func sum(_ widths: [Int], _ shown: [Int]) -> Int {
            shown.reduce(0) { $0 + widths[$1] } + 2 * max(0, shown.count - 1)
        }
        var shown = Array(columns.indices)
        while sum(least, shown) > width, shown.count > min(TableLayout.fewest, columns.count) {
            let silent = shown.lastIndex { index in
                rows.allSatisfy {
                    $0[index] == TableLayout.nothing || $0[index].isEmpty || columns[index].isCount && $0[index] == "0"
                }
            }
            let ranks = shown.map(rank)
            let most = ranks.max() ?? 0
            guard let removed = silent ?? (most > 0 ? ranks.lastIndex(of: most) : nil) else { break }
            shown.remove(at: removed)
        }
        isStacked = sum(least, shown) > width
        self.shown = isStacked ? Array(columns.indices) : shown
        // The widest text shrinks first, because it has the most to spare.
        while !isStacked, sum(widths, shown) > width,
            let widest = shown.filter({ widths[$0] > least[$0] }).max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
        }
    }

    /// The columns that the longest last path segment needs together with the ellipsis before it. Segments of more than
    /// 23 columns do not count.
    private static func segment(_ texts: [String]) -> Int {
        texts.map { TextWidth.columns(TextWidth.lastSegment($0)) + 1 }.filter { $0 <= longestSegment }.max() ?? 0
    }

    /// The headings of the columns that are left out.
    var leftOut: [String] { columns.indices.filter { !shown.contains($0) }.map { columns[$0].heading } }

    /// The line above a table. `nil` when each value has its own line.
    /// - Parameter bold: formats a text as a heading.
    func heading(bold: (String) -> String = { $0 }) -> String? {
        isStacked
            ? nil
            : bold(
                self.line(columns.indices.map { [TextWidth.cutInside(columns[$0].heading, to: widths[$0])] }, at: 0) {
                    $1
                })
    }

    /// The lines of one row.
    /// - Parameters:
    ///   - bold: formats a text as a heading.
    ///   - paint: formats the text of a column, given by its index.
    func lines(
        of row: [String], bold: (String) -> String = { $0 }, paint: (Int, String) -> String = { $1 }
    ) -> [String] {
        guard isStacked else {
            let cells = columns.indices.map { cell(row[$0], in: $0) }
            return (0..<(shown.map { cells[$0].count }.max() ?? 1)).map { line(cells, at: $0, paint) }
        }
        return shown.filter { row[$0] != TableLayout.nothing && !row[$0].isEmpty }.flatMap { index in
            let heading = columns[index].heading
            let lines = TableLayout.wrapped("\(heading) \(row[index])", width: width)
            guard let first = lines.first, first.hasPrefix(heading) else { return lines.map { paint(index, $0) } }
            return [bold(heading) + paint(index, String(first.dropFirst(heading.count)))]
                + lines.dropFirst().map { paint(index, $0) }
        }
    }

    /// The lines of one value.
    private func cell(_ text: String, in index: Int) -> [String] {
        let column = columns[index]
        if column.isNumber { return [text] }
        if column.isWrapped { return TableLayout.wrapped(text, width: widths[index], margin: "") }
        return [
            column.isCutInside
                ? TextWidth.cutInside(text, to: widths[index]) : TextWidth.cut(text, to: widths[index])
        ]
    }

    private func line(_ cells: [[String]], at number: Int, _ paint: (Int, String) -> String) -> String {
        let padded = shown.map { index in
            let text = number < cells[index].count ? cells[index][number] : ""
            let isLast = index == shown.last && !columns[index].isNumber
            let space = String(repeating: " ", count: isLast ? 0 : max(0, widths[index] - TextWidth.columns(text)))
            let painted = paint(index, text)
            return columns[index].isNumber ? space + painted : painted + space
        }
        var line = padded.joined(separator: "  ")
        while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
        return line
    }

    /// Breaks a text into lines, at spaces where possible. A number and its unit stay together. A word that is longer
    /// than a line is broken after a sign that separates its parts. In a URL or a path, such a sign separates segments,
    /// and a segment that fits into a line stays whole.
    /// - Parameters:
    ///   - margin: the indentation of the lines after the first.
    ///   - breakingWords: whether a word that is longer than a line is broken. Otherwise it exceeds its line.
    static func wrapped(
        _ text: String, width: Int, margin indentation: String = "  ", breakingWords: Bool = true
    ) -> [String] {
        var lines: [String] = []
        var rest = text[...]
        // Whether the text continues in the middle of a URL or a path. `nil` at the beginning of a word.
        var isInPath: Bool?
        while true {
            let margin = lines.isEmpty || width < 4 ? "" : indentation
            let room = max(1, width - margin.count)
            guard TextWidth.columns(rest) > room else { return lines + [margin + rest] }
            let piece = TextWidth.prefix(rest, columns: room)
            // A space right after the line is a valid break, too.
            let space =
                rest[...piece.endIndex].lastIndex(of: " ").flatMap { $0 > rest.startIndex ? $0 : nil }
                ?? (breakingWords ? nil : rest.dropFirst().firstIndex(of: " "))
            if let space {
                let next = max(1, width - (width < 4 ? 0 : indentation.count))
                let end = TableLayout.keepingUnit(space, in: rest, room: next)
                var line = rest[..<end]
                while line.last == " " { line.removeLast() }
                lines.append(margin + line)
                rest = rest[end...].drop { $0 == " " }
                isInPath = nil
            } else if breakingWords {
                let isPath = isInPath ?? rest.prefix { $0 != " " }.contains("/")
                isInPath = isPath
                // A character wider than the terminal still gets its own line.
                let piece = piece.isEmpty ? rest.prefix(1) : TableLayout.parts(of: piece, isPath: isPath)
                lines.append(margin + piece)
                rest = rest[piece.endIndex...]
            } else {
                return lines + [margin + rest]
            }
        }
    }

    /// Returns the space before a number if `space` separates the number from its unit, so that both stay together.
    /// Otherwise returns `space`. Also returns `space` when the number begins the line, or when the next line has no
    /// room for both.
    /// - Parameter room: the columns of the next line.
    private static func keepingUnit(_ space: Substring.Index, in text: Substring, room: Int) -> Substring.Index {
        let line = text[..<space]
        guard let start = line.lastIndex(of: " "), line[..<start].contains(where: { $0 != " " }) else { return space }
        let word = line[start...].dropFirst()
        let number = word.drop { $0 == "(" }
        let unit = text[space...].dropFirst().prefix { $0 != " " }
        guard number.last?.isNumber == true, number.allSatisfy({ $0.isNumber || $0 == "," || $0 == "." }),
            unit.first?.isLetter == true || unit.first == "%",
            TextWidth.columns(word) + 1 + TextWidth.columns(unit) <= room
        else { return space }
        return start
    }

    /// Returns the beginning of `word` up to its last separator. Returns the whole `word` if it has no separator.
    /// Outside a path, also returns the whole `word` if its last separator is in the first third.
    private static func parts(of word: Substring, isPath: Bool) -> Substring {
        if isPath, let sign = word.lastIndex(where: { "/?&=".contains($0) }) { return word[...sign] }
        guard let sign = word.lastIndex(where: { "?&:=-_".contains($0) }) else { return word }
        let parts = word[...sign]
        return 3 * parts.count < word.count ? word : parts
    }
}
#endif
