#if Tool
/// An item reduced to some of its fields. It is an object with a member for each field, in the order of the fields. The
/// name of a member is the name or the pointer of the field. The values are the item's own bytes (R7). A missing field
/// is null.
struct FieldObject {
    private let fields: [FieldPointer]
    /// The text before each value: `{"/id":`, `,"/owner/name":`.
    private let openings: [[UInt8]]

    init(_ fields: [FieldPointer]) {
        self.fields = fields
        openings = fields.enumerated().map { index, field in
            Array(((index == 0 ? "{" : ",") + JSONOutput.string(field.text).text + ":").utf8)
        }
    }

    /// - Parameter isLine: whether the object has to stay on one line. Line breaks, which are only white space in JSON,
    ///   become spaces then.
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
