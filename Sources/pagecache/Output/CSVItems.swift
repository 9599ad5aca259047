#if Tool
import HTTPPageSource
import PageModel

/// Items as rows of CSV (RFC 4180, but each row ends with a line feed alone). The columns are the scalar members of the
/// first page's items, or the named fields.
struct CSVItems {
    private enum Columns {
        /// Top-level members by name.
        case members([[UInt8]])
        case fields([FieldPointer])
        /// No item of the first page has a scalar member. The whole item is the only column.
        case whole
    }

    private let columns: Columns
    private let names: [[UInt8]]
    // The values of the present row. The array is kept to reuse its memory.
    private var row: [UnsafeRawBufferPointer?]
    /// The number of items with scalar members that have no column.
    private(set) var itemsCutShort = 0

    init(fields: [FieldPointer]) {
        columns = .fields(fields)
        names = fields.map { Array($0.text.utf8) }
        row = Array(repeating: nil, count: fields.count)
    }

    /// Makes a column for each scalar member of the page's items, in the order of their first appearance.
    init(firstPage content: PageContent) {
        var found: [[UInt8]] = []
        var known: Set<[UInt8]> = []
        content.bytes.withUnsafeBytes { bytes in
            for index in 0..<content.count {
                JSONBytes.eachMember(of: UnsafeRawBufferPointer(rebasing: bytes[content.byteRange(of: index)])) {
                    name, value in
                    let name = CSVItems.plain(name)
                    if JSONBytes.isScalar(value), known.insert(name).inserted { found.append(name) }
                    return true
                }
            }
        }
        columns = found.isEmpty ? .whole : .members(found)
        names = found.isEmpty ? [Array("payload".utf8)] : found
        row = Array(repeating: nil, count: names.count)
    }

    func writeNames(to sink: ByteSink) throws(ToolFailure) {
        for (index, name) in names.enumerated() {
            if index > 0 { try sink.append(UInt8(ascii: ",")) }
            try CSVItems.write(text: name, to: sink)
        }
        try sink.append(UInt8(ascii: "\n"))
    }

    /// Writes the header for a list without items, whose columns are unknown, so that a reader still gets a line of
    /// names.
    static func noItems(_ sink: ByteSink) throws(ToolFailure) { try sink.append("payload\n") }

    mutating func write(_ payload: UnsafeRawBufferPointer, to sink: ByteSink) throws(ToolFailure) {
        switch columns {
        case .whole: row[0] = payload
        case .fields(let fields): for (index, field) in fields.enumerated() { row[index] = field.value(in: payload) }
        case .members(let names): pick(names, of: payload)
        }
        for index in row.indices {
            if index > 0 { try sink.append(UInt8(ascii: ",")) }
            try write(row[index], to: sink)
        }
        try sink.append(UInt8(ascii: "\n"))
    }

    private mutating func pick(_ names: [[UInt8]], of payload: UnsafeRawBufferPointer) {
        for index in row.indices { row[index] = nil }
        // Items of one list mostly have their members in the same order, so the next name is compared first.
        var next = 0
        var isCutShort = false
        JSONBytes.eachMember(of: payload) { name, value in
            var place: Int?
            if next < names.count, name.elementsEqual(names[next]) {
                place = next
            } else {
                let plain = CSVItems.plain(name)
                place = names.firstIndex { $0 == plain }
            }
            guard let place else {
                if JSONBytes.isScalar(value) { isCutShort = true }
                return true
            }
            // The first of two members with the same name counts, as everywhere in the tool.
            if row[place] == nil { row[place] = value }
            next = place + 1
            return true
        }
        if isCutShort { itemsCutShort += 1 }
    }

    private func write(_ value: UnsafeRawBufferPointer?, to sink: ByteSink) throws(ToolFailure) {
        guard let value, !value.isEmpty else { return try writeNothing(to: sink) }
        if case .whole = columns { return try CSVItems.write(text: value, to: sink) }
        switch value[0] {
        case UInt8(ascii: "\"") where value.count >= 2:
            let inner = UnsafeRawBufferPointer(rebasing: value[1..<value.count - 1])
            if inner.isEmpty { return try writeNothing(to: sink) }
            if JSONBytes.first(UInt8(ascii: "\\"), in: inner) != nil {
                try CSVItems.write(text: JSONText.unescape(inner).bytes, to: sink)
            } else {
                try CSVItems.write(text: inner, to: sink)
            }
        case UInt8(ascii: "n"): try writeNothing(to: sink)
        default: try CSVItems.write(text: value, to: sink)
        }
    }

    /// Writes an empty value. A row with a single column gets quotes, because most readers skip an empty line.
    private func writeNothing(to sink: ByteSink) throws(ToolFailure) {
        if names.count == 1 { try sink.append("\"\"") }
    }

    private static func write(text: [UInt8], to sink: ByteSink) throws(ToolFailure) {
        let result = text.withUnsafeBytes { bytes in
            Result { () throws(ToolFailure) in try write(text: bytes, to: sink) }
        }
        try result.get()
    }

    private static func write(text: UnsafeRawBufferPointer, to sink: ByteSink) throws(ToolFailure) {
        let quote = UInt8(ascii: "\"")
        let needsQuotes =
            JSONBytes.first(quote, in: text) != nil || JSONBytes.first(UInt8(ascii: ","), in: text) != nil
            || JSONBytes.first(0x0A, in: text) != nil || JSONBytes.first(0x0D, in: text) != nil
        guard needsQuotes else { return try sink.append(text) }
        try sink.append(quote)
        var start = 0
        for index in text.indices where text[index] == quote {
            // The piece ends with the quote, and the next piece starts with it again. CSV doubles quotes.
            try sink.append(UnsafeRawBufferPointer(rebasing: text[start...index]))
            start = index
        }
        try sink.append(UnsafeRawBufferPointer(rebasing: text[start...]))
        try sink.append(quote)
    }

    private static func plain(_ name: UnsafeRawBufferPointer) -> [UInt8] {
        name.contains(UInt8(ascii: "\\")) ? JSONText.unescape(name).bytes : Array(name)
    }
}
#endif
