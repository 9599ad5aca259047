#if Tool
/// Results as rows, in any of the formats.
struct ResultTable {
    /// One column: its name in JSON, its heading for people, and how it is shown to them.
    struct Column {
        var name: String
        /// Nil: not shown in the table, only in the other formats.
        var heading: String?
        var isNumber = false
    }

    /// One value: for machines, and for people.
    struct Cell {
        var value: JSONOutput
        var text: String

        init(_ value: JSONOutput, _ text: String? = nil) {
            self.value = value
            self.text = text ?? Cell.plain(value)
        }

        private static func plain(_ value: JSONOutput) -> String {
            switch value {
            case .null: "–"
            case .string(let text): text
            case .bool(let flag): flag ? "yes" : "no"
            default: value.text
            }
        }
    }

    /// A column that is shown has at least this.
    private static let narrowest = 4

    var columns: [Column]
    var rows: [[Cell]]

    func render(_ format: OutputFormat, to terminal: Terminal) {
        switch format {
        case .table: table(terminal)
        case .json: terminal.print(JSONOutput.array(rows.map(object)).text)
        case .ndjson: for row in rows { terminal.print(object(row).text) }
        case .csv:
            terminal.print(columns.map { CSV.field($0.name) }.joined(separator: ","))
            for row in rows { terminal.print(row.map { CSV.field($0.value) }.joined(separator: ",")) }
        }
    }

    private func object(_ row: [Cell]) -> JSONOutput {
        .object(zip(columns, row).map { ($0.name, $1.value) })
    }

    private func table(_ terminal: Terminal) {
        let width = terminal.outputIsTerminal ? terminal.width : .max
        var shown = columns.indices.filter { columns[$0].heading != nil }
        // What matters most stands first: on a narrow terminal the rest is left to the other formats.
        while shown.count > 1, shown.count * (ResultTable.narrowest + 2) - 2 > width { shown.removeLast() }
        let headings = shown.map { columns[$0].heading ?? "" }
        let texts = rows.map { row in shown.map { Printable.text(row[$0].text) } }
        var widths = shown.indices.map { index in ([headings[index]] + texts.map { $0[index] }).map(\.count).max() ?? 0 }
        fit(&widths, into: width)
        func line(_ cells: [String]) -> String {
            let padded = shown.indices.map { index in
                let text = shorten(cells[index], to: widths[index])
                let space = String(repeating: " ", count: widths[index] - text.count)
                return columns[shown[index]].isNumber ? space + text : text + space
            }
            let joined = padded.joined(separator: "  ")
            return String(joined.reversed().drop(while: { $0 == " " }).reversed())
        }
        terminal.print(styled: terminal.colour(1, line(headings)))
        for row in texts { terminal.print(styled: line(row)) }
    }

    /// Takes what is too much from the widest column, which is the one with the most to spare.
    private func fit(_ widths: inout [Int], into width: Int) {
        while widths.reduce(0, +) + 2 * (widths.count - 1) > width,
            let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > ResultTable.narrowest
        {
            widths[widest] -= 1
        }
    }

    private func shorten(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(max(width - 1, 0)) + "…"
    }
}

/// RFC 4180.
enum CSV {
    static func field(_ value: JSONOutput) -> String {
        switch value {
        case .null: ""
        case .string(let text): field(text)
        default: field(value.text)
        }
    }

    static func field(_ text: String) -> String {
        guard text.contains(where: { $0 == "," || $0 == "\"" || $0 == "\n" || $0 == "\r" || $0 == "\r\n" }) else { return text }
        return "\"" + text.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }
}
#endif
