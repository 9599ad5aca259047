#if Tool
/// Results as rows, in every format.
struct ResultTable {
    /// One column: its name in JSON, its heading for people, and its layout.
    struct Column {
        var name: String
        /// `nil` means the column is left out of the table, but not of the other formats.
        var heading: String?
        var isNumber = false
        /// Whether a value is never cut, because a part of it would be useless, as for an id or a time.
        var isWhole = false
        /// As in `TableLayout.Column`.
        var least = TableLayout.narrowest
        var isCutInside = false
        var rank = 1
        var isCount = false
        var isWrapped = false
        /// Whether the column comes last in the table. Other formats keep its place.
        var isLast = false
        /// Whether the column is the id or the key of a row's query. On a terminal without room for these columns, a
        /// title above each row shows their values.
        var isTitle = false
    }

    /// One value, in a form for programs and a form for people.
    struct Cell {
        var value: JSONOutput
        var text: String
        /// The colour of the text (`Colour`). `nil` means none.
        var colour: Int?

        init(_ value: JSONOutput, _ text: String? = nil, colour: Int? = nil) {
            self.value = value
            self.text = text ?? Cell.plain(value)
            self.colour = colour
        }

        private static func plain(_ value: JSONOutput) -> String {
            switch value {
            case .null: TableLayout.nothing
            case .string(let text): text
            case .bool(let flag): flag ? "yes" : "no"
            default: value.text
            }
        }
    }

    var columns: [Column]
    var rows: [[Cell]]
    /// The title of a group of rows.
    struct Group: Equatable {
        /// The id of the query, which is cut only on a terminal that is narrower than the id. Empty for a row about
        /// several queries.
        var id: String
        var text: String

        /// One line, or two on a narrow terminal.
        func lines(width: Int) -> [String] {
            guard !id.isEmpty else { return [TextWidth.cutInside(text, to: width)] }
            let room = width == .max ? .max : width - TextWidth.columns(id) - 2
            let least = min(TextWidth.columns(text), ResultTable.narrowestTitle)
            return room >= least
                ? ["\(id)  \(TextWidth.cutInside(text, to: room))"]
                : [TextWidth.cut(id, to: width), TextWidth.cutInside(text, to: width)]
        }
    }

    /// The fewest columns for the text of a title next to its id.
    private static let narrowestTitle = 24

    /// The title of each row's group, for people. Rows of a group are adjacent. Empty without groups.
    var groups: [Group] = []

    func render(_ format: OutputFormat, to terminal: Terminal) {
        switch format {
        case .table: table(terminal)
        case .json: terminal.print(JSONOutput.array(rows.map(object)).text)
        case .ndjson: for row in rows { terminal.print(object(row).text) }
        case .csv:
            // Without a result, the names of a result's members are not known.
            if columns.isEmpty { break }
            terminal.print(columns.map { CSV.field($0.name) }.joined(separator: ","))
            for row in rows { terminal.print(row.map { CSV.field($0.value) }.joined(separator: ",")) }
        }
    }

    /// Renders a result that is one object, or one sentence for people.
    static func render(
        one members: [(String, JSONOutput)], _ format: OutputFormat, sentence: String, to terminal: Terminal = .standard
    ) {
        switch format {
        case .table: terminal.print(sentence: sentence)
        case .json, .ndjson: terminal.print(JSONOutput.object(members).text)
        case .csv:
            ResultTable(columns: members.map { .init(name: $0.0) }, rows: [members.map { .init($0.1) }]).render(
                .csv, to: terminal)
        }
    }

    private func object(_ row: [Cell]) -> JSONOutput {
        .object(zip(columns, row).map { ($0.name, $1.value) })
    }

    private func table(_ terminal: Terminal) {
        let (lines, leftOut) = lines(width: terminal.outputIsTerminal ? terminal.width : .max, colour: terminal.colour)
        for line in lines { terminal.print(styled: line) }
        // The note tells users about columns that do not fit.
        if !leftOut.isEmpty {
            terminal.note("… \(leftOut.joined(separator: ", ")): on a wider terminal, or with --json")
        }
    }

    /// The lines of the table for a width in columns, and the headings of the columns that do not fit.
    /// - Parameter colour: formats a text in a colour (`Colour`).
    func lines(width: Int, colour: (Int, String) -> String = { $1 }) -> (lines: [String], leftOut: [String]) {
        let named = columns.indices.filter { columns[$0].heading != nil }
        let headed = named.filter { !columns[$0].isLast } + named.filter { columns[$0].isLast }
        let layout = layout(of: headed, width)
        let isNamed = headed.allSatisfy { !columns[$0].isTitle || !layout.leftOut.contains(columns[$0].heading ?? "") }
        let others = headed.filter { !columns[$0].isTitle }
        if layout.isStacked || !isNamed, others.count < headed.count {
            let titled = self.layout(of: others, width)
            if !titled.isStacked { return (lines(others, titled, titles, width, colour), titled.leftOut) }
        }
        return (lines(headed, layout, groups, width, colour), layout.leftOut)
    }

    private func texts(of headed: [Int]) -> [[String]] {
        rows.map { row in headed.map { Printable.text(row[$0].text) } }
    }

    private func layout(of headed: [Int], _ width: Int) -> TableLayout {
        TableLayout(
            headed.map { index in
                let column = columns[index]
                return .init(
                    heading: column.heading ?? "", isNumber: column.isNumber, isWhole: column.isWhole,
                    least: column.least, isCutInside: column.isCutInside, rank: column.rank, isCount: column.isCount,
                    isWrapped: column.isWrapped)
            }, rows: texts(of: headed), width: width)
    }

    /// A title for each row, from the columns with the id and the key of the query.
    private var titles: [Group] {
        let named = columns.indices.filter { columns[$0].isTitle }
        return rows.map { Group(id: $0[named[0]].text, text: $0[named[1]].text) }
    }

    private func lines(
        _ headed: [Int], _ layout: TableLayout, _ groups: [Group], _ width: Int, _ colour: (Int, String) -> String
    ) -> [String] {
        func bold(_ text: String) -> String { colour(Colour.bold, text) }
        var lines = layout.heading(bold: bold).map { [$0] } ?? []
        for (number, row) in texts(of: headed).enumerated() {
            if layout.isStacked, !lines.isEmpty { lines.append("") }
            if number < groups.count, number == 0 || groups[number] != groups[number - 1] {
                let title = Group(id: groups[number].id, text: Printable.text(groups[number].text))
                lines += title.lines(width: width).map(bold)
            }
            lines += layout.lines(of: row, bold: bold) { column, text in
                rows[number][headed[column]].colour.map { colour($0, text) } ?? text
            }
        }
        return lines
    }
}

/// CSV fields (RFC 4180).
enum CSV {
    static func field(_ value: JSONOutput) -> String {
        switch value {
        case .null: ""
        case .string(let text): field(text)
        default: field(value.text)
        }
    }

    static func field(_ text: String) -> String {
        guard text.contains(where: { $0 == "," || $0 == "\"" || $0 == "\n" || $0 == "\r" || $0 == "\r\n" }) else {
            return text
        }
        return "\"" + text.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }
}
#endif
