#if Tool
/// A fact for people: a name, and a text behind it in a column of its own.
struct LabelledLine {
    var name: String
    var text: String
    /// The colour of the text (`Colour`). `nil` means none.
    var colour: Int?

    /// Renders lines whose texts begin at the same column. On a terminal, long texts continue below their beginning.
    static func render(_ lines: [LabelledLine], to terminal: Terminal) {
        let width = terminal.outputIsTerminal ? terminal.width : .max
        let label = lines.map(\.name.count).max() ?? 0
        for line in lines {
            let name = line.name + String(repeating: " ", count: label - line.name.count)
            let room = width == .max ? .max : max(8, width - label - 2)
            let texts = TableLayout.wrapped(Printable.text(line.text), width: room, margin: "")
            for (index, text) in texts.enumerated() {
                let shown = line.colour.map { terminal.colour($0, text) } ?? text
                let head = index == 0 ? terminal.colour(Colour.bold, name) : String(repeating: " ", count: label)
                terminal.print(styled: "\(head)  \(shown)")
            }
        }
    }
}
#endif
