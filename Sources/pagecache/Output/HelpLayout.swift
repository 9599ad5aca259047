#if Tool
/// Lays out a help text for a terminal that is too narrow for the columns of the argument parser. Pure.
///
/// The parser breaks lines without regard to its own columns. Here a description stays in its column, or moves below
/// its option when the column would be too narrow.
struct HelpLayout {
    /// The narrowest terminal for the parser's own layout, in columns.
    static let narrowest = 80
    /// A width at which the parser breaks no line.
    static let unbroken = 10_000

    private let width: Int
    private var lines: [String] = []

    /// Returns the lines of a help text.
    /// - Parameters:
    ///   - text: the help in the parser's layout. For a narrow terminal, the layout for `unbroken` columns.
    ///   - width: the columns of the terminal. A terminal that is not narrow keeps the parser's layout, except for the
    ///     usage, which the parser does not break.
    static func lines(_ text: String, width: Int) -> [String] {
        var layout = HelpLayout(width: width)
        if width >= narrowest {
            return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
                line.hasPrefix("USAGE: ") ? layout.wrapped(String(line), margin: 0, hanging: 2) : [String(line)]
            }
        }
        var rest = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let first = rest.first {
            let block = rest.prefix { kind($0) == kind(first) }
            rest = rest.dropFirst(block.count)
            layout.add(block.map(String.init), kind(first))
        }
        return layout.lines
    }

    private init(width: Int) { self.width = width }

    private enum Kind: Equatable {
        case empty
        /// A line of a paragraph.
        case prose
        /// An indented line without a description.
        case indented
        /// A name and its description, which begins at this column.
        case described(column: Int)
    }

    private static func kind(_ line: Substring) -> Kind {
        if line.isEmpty { return .empty }
        guard line.first == " " else { return .prose }
        guard let parts = line.wholeMatch(of: /( +\S.*?  +)\S.*/) else { return .indented }
        return .described(column: parts.1.count)
    }

    private mutating func add(_ block: [String], _ kind: Kind) {
        switch kind {
        case .empty: lines += block
        case .prose: lines += wrapped(block.joined(separator: " "), margin: 0, hanging: 2)
        case .indented:
            for line in block {
                let text = line.drop { $0 == " " }
                // A line that is indented by more than two columns is a description below a long name, or a discussion
                // of an option.
                let margin = line.count - text.count <= 2 ? 2 : 6
                lines += wrapped(String(text), margin: margin, hanging: 6)
            }
        case .described(let column): add(block, column)
        }
    }

    private mutating func add(_ block: [String], _ column: Int) {
        if block.allSatisfy({ TextWidth.columns($0) <= width }) { return lines += block }
        let isBeside = 3 * column <= width
        for line in block {
            let name = line.prefix(column).split(separator: " ").joined(separator: " ")
            let text = String(line.dropFirst(column))
            guard isBeside else {
                lines += wrapped(name, margin: 2, hanging: 6) + wrapped(text, margin: 6, hanging: 6)
                continue
            }
            let beside = wrapped(text, margin: column, hanging: column)
            lines.append(String(line.prefix(column)) + String((beside.first ?? "").dropFirst(column)))
            lines += beside.dropFirst()
        }
    }

    /// The lines of a text, indented. A word that is longer than a line exceeds it.
    private func wrapped(_ text: String, margin: Int, hanging: Int) -> [String] {
        let first = String(repeating: " ", count: margin)
        let next = String(repeating: " ", count: hanging - margin)
        return TableLayout.wrapped(text, width: max(1, width - margin), margin: next, breakingWords: false).map {
            first + $0
        }
    }
}
#endif
