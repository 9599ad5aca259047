#if Tool
/// A fact for people: a name, and a text after it in a column of its own.
struct LabelledLine {
    var name: String
    var text: String
    /// The colour of the text (`Colour`). `nil` means none.
    var colour: Int?

    /// The fewest columns for texts next to their names.
    private static let narrowest = 24

    /// Renders lines whose texts begin at the same column. On a terminal, long texts continue below their beginning.
    static func render(_ lines: [LabelledLine], to terminal: Terminal) {
        let width = terminal.outputIsTerminal ? terminal.width : .max
        for line in texts(of: lines, width: width, colour: terminal.colour) { terminal.print(styled: line) }
    }

    /// The lines for a width in columns. On a narrow terminal each name has its own line.
    /// - Parameter colour: formats a text in a colour (`Colour`).
    static func texts(
        of lines: [LabelledLine], width: Int, colour: (Int, String) -> String = { $1 }
    ) -> [String] {
        let label = lines.map(\.name.count).max() ?? 0
        let isNarrow = width < label + 2 + narrowest
        let margin = String(repeating: " ", count: isNarrow ? 2 : label + 2)
        return lines.flatMap { line in
            let room = width == .max ? .max : max(1, width - margin.count)
            let texts = TableLayout.wrapped(Printable.text(line.text), width: room, margin: "").map { text in
                line.colour.map { colour($0, text) } ?? text
            }
            let name = colour(Colour.bold, line.name)
            let space = String(repeating: " ", count: max(0, margin.count - line.name.count))
            if isNarrow { return (line.name.isEmpty ? [] : [name]) + texts.map { margin + $0 } }
            return texts.enumerated().map { $0 == 0 ? name + space + $1 : margin + $1 }
        }
    }
}
#endif
