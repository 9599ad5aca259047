import Foundation

/// A JSON Schema (2020-12) with the keywords that the schemas of this package use. A schema with another keyword is
/// refused, because an unsupported rule would otherwise count as fulfilled.
public struct JSONSchema: Sendable {
    public struct Unusable: Error, Hashable {
        public let what: String
    }

    private let root: JSONValue

    private static let known: Set<String> = [
        "$schema", "$id", "$defs", "$ref", "title", "description", "type", "enum", "const", "properties", "required",
        "additionalProperties", "items", "minItems", "maxItems", "minimum", "maximum", "minLength", "pattern", "format",
        "oneOf",
    ]
    private static let types: Set<String> = ["null", "boolean", "integer", "number", "string", "array", "object"]

    /// - Throws: `Unusable` when the text is not JSON, or contains an unsupported keyword or value.
    public init(_ text: String) throws {
        do { root = try JSONValue(text) } catch { throw Unusable(what: "not JSON: \(error)") }
        guard root["$schema"]?.text == "https://json-schema.org/draft/2020-12/schema" else {
            throw Unusable(what: "not of 2020-12")
        }
        try check(root, "#")
    }

    /// Returns the violations of the schema in a value, each with its place. An empty array means that the value is
    /// valid.
    public func problems(with value: JSONValue) -> [String] { problems(value, root, "") }

    // MARK: The schema itself

    private func check(_ schema: JSONValue, _ place: String) throws {
        if case .bool = schema { return }
        guard let members = schema.members else { throw Unusable(what: "\(place) is no schema") }
        if let strange = members.keys.filter({ !JSONSchema.known.contains($0) }).sorted().first {
            throw Unusable(what: "\(place) has '\(strange)', which is not understood here")
        }
        if let type = schema["type"] {
            let names = type.elements?.map { $0.text ?? "?" } ?? [type.text ?? "?"]
            guard names.allSatisfy(JSONSchema.types.contains) else {
                throw Unusable(what: "\(place) has an unknown type")
            }
        }
        if let format = schema["format"], format.text != "date-time" {
            throw Unusable(what: "\(place) has an unknown format")
        }
        if let pattern = schema["pattern"]?.text { _ = try NSRegularExpression(pattern: pattern) }
        if let reference = schema["$ref"] {
            guard let name = reference.text, resolve(name) != nil else {
                throw Unusable(what: "\(place): \(reference) leads nowhere")
            }
        }
        for (name, part) in (schema["properties"]?.members ?? [:]).merging(
            schema["$defs"]?.members ?? [:], uniquingKeysWith: { $1 })
        {
            try check(part, "\(place)/\(name)")
        }
        // A required member without a description could have any value.
        for name in schema["required"]?.elements ?? [] where schema["properties"]?[name.text ?? ""] == nil {
            throw Unusable(what: "\(place) requires \(name), which it does not describe")
        }
        for keyword in ["items", "additionalProperties"] {
            if let part = schema[keyword] { try check(part, "\(place)/\(keyword)") }
        }
        for (index, part) in (schema["oneOf"]?.elements ?? []).enumerated() {
            try check(part, "\(place)/oneOf/\(index)")
        }
    }

    private func resolve(_ reference: String) -> JSONValue? {
        reference.hasPrefix("#/$defs/") ? root["$defs"]?[String(reference.dropFirst("#/$defs/".count))] : nil
    }

    // MARK: A value

    private func problems(_ value: JSONValue, _ schema: JSONValue, _ place: String) -> [String] {
        if case .bool(let isAllowed) = schema { return isAllowed ? [] : ["\(place): must not be there"] }
        var found: [String] = []
        func fault(_ text: String) { found.append("\(place.isEmpty ? "/" : place): \(text)") }
        if let reference = schema["$ref"]?.text, let target = resolve(reference) {
            found += problems(value, target, place)
        }
        if let type = schema["type"] {
            let names = type.elements?.compactMap(\.text) ?? [type.text ?? ""]
            let fits = names.contains(value.typeName) || (value.typeName == "integer" && names.contains("number"))
            if !fits { fault("is \(value.typeName), not \(names.joined(separator: " or "))") }
        }
        if let allowed = schema["enum"]?.elements, !allowed.contains(value) {
            fault("\(value) is not one of \(allowed)")
        }
        if let constant = schema["const"], constant != value { fault("\(value) is not \(constant)") }
        if let number = value.asDouble {
            if let least = schema["minimum"]?.asDouble, number < least { fault("\(number) is below \(least)") }
            if let most = schema["maximum"]?.asDouble, number > most { fault("\(number) is above \(most)") }
        }
        if let text = value.text {
            if let least = schema["minLength"]?.integer, text.count < least { fault("is too short") }
            if let pattern = schema["pattern"]?.text, text.range(of: pattern, options: .regularExpression) == nil {
                fault("'\(text)' does not match \(pattern)")
            }
            if schema["format"] != nil, text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) == nil {
                fault("'\(text)' is not RFC 3339 in UTC")
            }
        }
        if let elements = value.elements {
            if let least = schema["minItems"]?.integer, elements.count < least {
                fault("has \(elements.count) elements")
            }
            if let most = schema["maxItems"]?.integer, elements.count > most { fault("has \(elements.count) elements") }
            if let part = schema["items"] {
                for (index, element) in elements.enumerated() { found += problems(element, part, "\(place)/\(index)") }
            }
        }
        if let members = value.members {
            for name in schema["required"]?.elements?.compactMap(\.text) ?? [] where members[name] == nil {
                fault("lacks '\(name)'")
            }
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                if let part = schema["properties"]?[name] {
                    found += problems(member, part, "\(place)/\(name)")
                } else if let rest = schema["additionalProperties"] {
                    found += problems(member, rest, "\(place)/\(name)")
                }
            }
        }
        if let choices = schema["oneOf"]?.elements {
            let results = choices.map { problems(value, $0, place) }
            if results.count(where: \.isEmpty) != 1 {
                fault("fits \(results.count(where: \.isEmpty)) of \(choices.count) choices: \(results)")
            }
        }
        return found
    }
}
