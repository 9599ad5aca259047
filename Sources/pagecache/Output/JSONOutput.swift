#if Tool
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A JSON value for output. Members keep their order, and null members are written, too.
enum JSONOutput: Sendable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONOutput])
    case object([(String, JSONOutput)])
    /// A value that is JSON already.
    case json(String)

    static func optional(_ value: Int?) -> JSONOutput { value.map { .int($0) } ?? .null }
    static func optional(_ value: String?) -> JSONOutput { value.map { .string($0) } ?? .null }
    static func optional(_ value: Double?) -> JSONOutput { value.map { .double($0) } ?? .null }

    var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .int(let value): text += String(value)
        case .double(let value): text += value.isFinite ? String(value) : "null"
        case .string(let value): JSONOutput.write(value, to: &text)
        case .json(let value): text += value
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                JSONOutput.write(member.0, to: &text)
                text += ":"
                member.1.write(to: &text)
            }
            text += "}"
        }
    }

    /// An item's payload, on one line. A payload that is not JSON becomes a string.
    static func payload(_ bytes: [UInt8]) -> JSONOutput {
        let text = String(decoding: bytes, as: UTF8.self)
        guard (try? JSONDecoder().decode(AnyJSON.self, from: Data(bytes))) != nil else { return .string(text) }
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            // Valid JSON contains line breaks and tabs only between its values.
            case "\n", "\r", "\t": line += " "
            case _ where Printable.isDangerous(scalar): line += escape(scalar)
            default: line.unicodeScalars.append(scalar)
            }
        }
        return .json(line)
    }

    /// Any value. Decoding it checks the syntax of the whole text.
    private struct AnyJSON: Decodable {
        init(from decoder: any Decoder) throws {}
    }

    /// The escape of a scalar with at most four hexadecimal digits (RFC 8259, 7).
    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let hex = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            // Every such scalar has at most four hexadecimal digits. Characters that are unsafe on a terminal stay
            // valid JSON as escapes (RFC 8259, 7; R46).
            case _ where Printable.isDangerous(scalar): text += escape(scalar)
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
#endif
