#if Tool
import PageModel

/// Writes the items of `show` in a format, as they are read.
struct ItemWriter {
    /// The form of the output.
    private enum Way {
        /// Whole items, one line each. On a terminal, lines are cut to its width, except for the format `ndjson`.
        case lines
        /// Whole items as elements of one array.
        case array
        /// Whole items next to their positions and ids.
        case rows
        /// Some fields of the items, for people.
        case table(FieldTable)
        /// Some fields of the items, for programs.
        case encoded(ItemEncoder, ByteSink)
    }

    private let terminal: Terminal
    private var way: Way
    private var isFirst = true

    /// - Parameters:
    ///   - format: the named format. `nil` means a form for people on a terminal, and NDJSON elsewhere.
    ///   - fields: the fields to write. `nil` means whole items.
    init(format: OutputFormat?, fields: [FieldPointer]?, terminal: Terminal) throws(ToolFailure) {
        self.terminal = terminal
        switch (format, fields) {
        case (.table?, let fields?):
            way = .table(FieldTable(fields, width: terminal.outputIsTerminal ? terminal.width : .max))
        case (nil, let fields?) where terminal.outputIsTerminal: way = .table(FieldTable(fields, width: terminal.width))
        case (_, let fields?):
            way = .encoded(
                ItemEncoder(format: format ?? .ndjson, fields: fields), try ByteSink(path: nil, terminal: terminal))
        case (.json?, nil): way = .array
        case (.csv?, nil): way = .rows
        case (.table?, nil), (.ndjson?, nil), (nil, nil): way = .lines
        }
        isCut = format != .ndjson && terminal.outputIsTerminal
    }

    /// Whether lines are cut to the terminal's width.
    private let isCut: Bool

    mutating func begin() throws(ToolFailure) {
        switch way {
        case .array: terminal.write(raw: [UInt8(ascii: "[")])
        case .rows: terminal.print("offset,id,payload")
        case .encoded(var encoder, let sink):
            try encoder.begin(sink)
            way = .encoded(encoder, sink)
        case .lines, .table: break
        }
    }

    mutating func write(_ window: ListWindow) throws(ToolFailure) {
        switch way {
        case .lines, .array, .rows:
            for part in window.parts {
                for index in 0..<part.content.count {
                    write(part.content.payload(at: index), id: part.content.ids[index], at: part.offset + index)
                }
            }
        case .table(var table):
            for line in table.lines(window, bold: { terminal.colour(1, $0) }) { terminal.print(styled: line) }
            way = .table(table)
        case .encoded(var encoder, let sink):
            for part in window.parts { try encoder.write(part.content, to: sink) }
            way = .encoded(encoder, sink)
        }
    }

    func end() throws(ToolFailure) {
        switch way {
        case .array:
            terminal.write(raw: [UInt8(ascii: "]")])
            terminal.newline()
        case .encoded(let encoder, let sink):
            try encoder.end(sink)
            try sink.finish()
        case .lines, .rows, .table: break
        }
    }

    private mutating func write(_ payload: ArraySlice<UInt8>, id: String?, at position: Int) {
        defer { isFirst = false }
        switch way {
        case .lines where isCut:
            let line = Printable.text("\(position)  \(String(decoding: payload, as: UTF8.self))")
            terminal.print(TextWidth.cut(line, to: terminal.width))
        case .lines:
            // One item a line. Only line breaks, which are white space in JSON, are rewritten.
            if payload.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
                terminal.write(raw: payload.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }[...])
            } else {
                terminal.write(raw: payload)
            }
            terminal.newline()
        case .array:
            if !isFirst { terminal.write(raw: [UInt8(ascii: ",")]) }
            terminal.write(raw: payload)
        case .rows:
            // The exact bytes, line breaks included: RFC 4180 quotes a field that contains them.
            terminal.write(
                raw: Array(
                    "\(position),\(CSV.field(id ?? "")),\(CSV.field(String(decoding: payload, as: UTF8.self)))".utf8)[
                        ...])
            terminal.newline()
        case .table, .encoded: break
        }
    }
}
#endif
