import Foundation

/// JSON with distinct types: the number 1 is not `true`, and an integer is a number without a fraction.
public enum JSONValue: Hashable, Sendable, Decodable {
    case null
    case bool(Bool)
    case int(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public init(_ text: String) throws { self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    public subscript(name: String) -> JSONValue? { if case .object(let members) = self { members[name] } else { nil } }
    public var text: String? { if case .string(let text) = self { text } else { nil } }
    public var integer: Int? { if case .int(let value) = self { value } else { nil } }
    public var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    public var members: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

    /// The name of the type in JSON Schema. Integers are "integer", which "number" includes.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .int: "integer"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    var asDouble: Double? {
        switch self {
        case .int(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}
