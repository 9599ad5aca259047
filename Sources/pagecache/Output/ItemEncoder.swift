#if Tool
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Writes the bytes of items in a format, window by window, without decoding them.
struct ItemEncoder {
    private let format: OutputFormat
    private var rows: CSVItems?
    private let object: FieldObject?
    private var isFirst = true
    /// The number of items written so far.
    private(set) var count = 0

    /// - Parameters:
    ///   - format: the format. `table` is written as `ndjson`.
    ///   - fields: the written fields of each item, and the columns of CSV. `nil` writes whole items, and takes the
    ///     columns from the first page.
    init(format: OutputFormat, fields: [FieldPointer]?) {
        self.format = format
        rows = fields.map { CSVItems(fields: $0) }
        object = fields.map { FieldObject($0) }
    }

    /// The number of items with scalar members that have no CSV column.
    var itemsCutShort: Int { rows?.itemsCutShort ?? 0 }

    mutating func begin(_ sink: ByteSink) throws(ToolFailure) {
        switch format {
        case .json: try sink.append("[")
        case .csv: try rows?.writeNames(to: sink)
        case .table, .ndjson: break
        }
    }

    mutating func write(_ content: PageContent, to sink: ByteSink) throws(ToolFailure) {
        guard !content.isEmpty else { return }
        let result = content.bytes.withUnsafeBytes { bytes in
            Result { () throws(ToolFailure) in try write(content, bytes, to: sink) }
        }
        try result.get()
        count += content.count
    }

    func end(_ sink: ByteSink) throws(ToolFailure) {
        switch format {
        case .json: try sink.append("]\n")
        case .csv: try rows == nil ? CSVItems.noItems(sink) : ()
        case .table, .ndjson: break
        }
    }

    private mutating func write(_ content: PageContent, _ bytes: UnsafeRawBufferPointer, to sink: ByteSink)
        throws(ToolFailure)
    {
        switch format {
        case .json:
            // Each item starts on a new line, so that tools that read lines can process the array if no item contains
            // line breaks.
            try each(content, bytes) { payload throws(ToolFailure) in
                if !isFirst { try sink.append(",\n") }
                isFirst = false
                if let object { try object.write(payload, isLine: false, to: sink) } else { try sink.append(payload) }
            }
        case .table, .ndjson:
            // Most pages contain no line breaks, so one search covers the whole page.
            let isPlain = !ItemEncoder.hasLineBreak(bytes)
            try each(content, bytes) { payload throws(ToolFailure) in
                if let object {
                    try object.write(payload, isLine: !isPlain, to: sink)
                } else if isPlain || !ItemEncoder.hasLineBreak(payload) {
                    try sink.append(payload)
                } else {
                    // Only line breaks, which are white space in JSON, are rewritten.
                    try sink.append(payload.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
                }
                try sink.append(UInt8(ascii: "\n"))
            }
        case .csv:
            if rows == nil {
                rows = CSVItems(firstPage: content)
                try rows?.writeNames(to: sink)
            }
            try each(content, bytes) { payload throws(ToolFailure) in try rows?.write(payload, to: sink) }
        }
    }

    private func each(
        _ content: PageContent, _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(ToolFailure) -> Void
    ) throws(ToolFailure) {
        for index in 0..<content.count {
            try body(UnsafeRawBufferPointer(rebasing: bytes[content.byteRange(of: index)]))
        }
    }

    private static func hasLineBreak(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return false }
        return memchr(start, 0x0A, bytes.count) != nil || memchr(start, 0x0D, bytes.count) != nil
    }
}
#endif
