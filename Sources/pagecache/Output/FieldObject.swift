#if Tool
/// An item cut down to some of its fields: an object with a member for each, in the order in which they were named and
/// under the names by which they were asked for. The values are the item's own bytes (R7); what an item does not have
/// is null.
struct FieldObject {
    private let fields: [FieldPointer]
    /// What stands before each value: `{"/id":`, `,"/owner/name":`.
    private let openings: [[UInt8]]

    init(_ fields: [FieldPointer]) {
        self.fields = fields
        openings = fields.enumerated().map { index, field in
            Array(((index == 0 ? "{" : ",") + JSONOutput.string(field.text).text + ":").utf8)
        }
    }

    /// - Parameter isLine: whether it has to stay on one line; line breaks, which in JSON are only white space, become
    ///   spaces then.
    func write(_ payload: UnsafeRawBufferPointer, isLine: Bool, to sink: ByteSink) throws(ToolFailure) {
        for (opening, field) in zip(openings, fields) {
            try sink.append(opening)
            guard let value = field.value(in: payload), !value.isEmpty else {
                try sink.append("null")
                continue
            }
            if isLine, value.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
                try sink.append(value.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
            } else {
                try sink.append(value)
            }
        }
        try sink.append("}")
    }
}
#endif
