#if Tool
import HTTPPageSource
import PageModel

/// Fields of items as a table for people. The first window determines the column widths, so that memory does not grow
/// with the list.
struct FieldTable {
    private let fields: [FieldPointer]
    private let width: Int
    private var layout: TableLayout?
    private var isFirst = true

    /// - Parameter width: the columns of the terminal. `Int.max` without a terminal.
    init(_ fields: [FieldPointer], width: Int) {
        self.fields = fields
        self.width = width
    }

    /// The lines for the items of a window. The first call also returns the heading.
    mutating func lines(_ window: ListWindow, bold: (String) -> String = { $0 }) -> [String] {
        let rows = window.parts.flatMap(rows)
        let layout = layout ?? TableLayout(columns(rows), rows: rows, width: width)
        var lines = self.layout == nil ? layout.heading(bold: bold).map { [$0] } ?? [] : []
        self.layout = layout
        for row in rows {
            if layout.isStacked, !isFirst { lines.append("") }
            isFirst = false
            lines += layout.lines(of: row, bold: bold)
        }
        return lines
    }

    private func rows(_ part: ListWindow.Part) -> [[String]] {
        part.content.bytes.withUnsafeBytes { bytes in
            (0..<part.content.count).map { index in
                let payload = UnsafeRawBufferPointer(rebasing: bytes[part.content.byteRange(of: index)])
                return [SizeText.count(part.offset + index)] + fields.map { FieldTable.text($0.value(in: payload)) }
            }
        }
    }

    private func columns(_ rows: [[String]]) -> [TableLayout.Column] {
        let named = fields.enumerated().map { index, field in
            let values = rows.map { $0[index + 1] }.filter { $0 != TableLayout.nothing }
            let isNumber =
                !values.isEmpty
                && values.allSatisfy { value in
                    value.first.map { $0 == "-" || $0.isASCII && $0.isNumber } ?? false && Double(value) != nil
                }
            return TableLayout.Column(
                heading: Printable.text(field.text.isEmpty ? "item" : field.text), isNumber: isNumber)
        }
        return [.init(heading: "OFFSET", isNumber: true)] + named
    }

    /// Returns a string without its quotes and escapes, and other values as they were sent. Returns "–" for `null` and
    /// for a missing value.
    private static func text(_ value: UnsafeRawBufferPointer?) -> String {
        guard let value, let first = value.first, first != UInt8(ascii: "n") else { return TableLayout.nothing }
        guard first == UInt8(ascii: "\""), value.count >= 2 else {
            return Printable.text(String(decoding: value, as: UTF8.self))
        }
        let inner = JSONText.unescape(UnsafeRawBufferPointer(rebasing: value[1..<value.count - 1]))
        return Printable.text(String(decoding: inner.bytes, as: UTF8.self))
    }
}
#endif
