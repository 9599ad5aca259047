import PageModel

/// The JSON body of a search by POST, and the values of a page in it.
///
/// The position of a page is a parameter of its URL whose name is a JSON Pointer (`/variables/after`). Each request
/// moves that value from the URL into the body, so that cursors, probes and stored pages need no other form.
struct RequestBody: Sendable {
    let document: JSONDocument

    /// - Throws: `FetchFailure` with class `rejected` when the body is not a JSON object.
    init(_ bytes: [UInt8], limits: HTTPLimits) throws(FetchFailure) {
        guard let document = try? JSONDocument(bytes, depthLimit: limits.depth),
            document.kind(of: document.root) == .object
        else { throw FetchFailure(.rejected, "the body of the request is not a JSON object", isRetryable: false) }
        self.document = document
    }

    /// Whether a parameter is a place in the body.
    static func isPlace(_ name: String) -> Bool { name.hasPrefix("/") || name.hasPrefix(jsonMark) }

    /// The prefix of a place whose value is JSON itself: an object or an array that goes into the body as it is.
    private static let jsonMark = "json:/"

    /// The parameter for a value that is an object or an array. Outside a body, such a value is text.
    static func jsonPlace(_ name: String) -> String { name.hasPrefix("/") ? "json:" + name : name }

    /// The body with the values of these parameters, and the URL without them.
    func request(for url: OriginURL) -> (url: OriginURL, body: [UInt8]) {
        var url = url
        var body = document
        for parameter in url.parameters where RequestBody.isPlace(parameter.plainName) {
            let isJSON = parameter.plainName.hasPrefix(RequestBody.jsonMark)
            guard let pointer = JSONPointer(String(parameter.plainName.dropFirst(isJSON ? 5 : 0))) else { continue }
            let text = parameter.plainValue
            let isValid = isJSON && (try? JSONDocument(Array(text.utf8), depthLimit: 128)) != nil
            let value = isValid ? text : value(text, at: pointer)
            body = body.setting(pointer, to: value).flatMap { try? JSONDocument($0, depthLimit: 128) } ?? body
        }
        url.removeParameters { RequestBody.isPlace($0.plainName) }
        return (url, body.bytes)
    }

    /// The JSON text for a value. A number stays a number if the body has one at this place, or if the name is that of
    /// a position or a size. The place of `search_after` takes an array.
    private func value(_ text: String, at pointer: JSONPointer) -> String {
        let existing = document.value(at: pointer).map { document.kind(of: $0) }
        let name = pointer.tokens.last ?? ""
        let isCounting = (ParameterNames.offset + ParameterNames.page + ParameterNames.limit).contains(name)
        let isNumber = JSONText.wholeNumber(text).map { "\($0)" == text } ?? false
        if existing == .array || name == "search_after" {
            return text.hasPrefix("[") ? text : "[\(isNumber ? text : RequestBody.quoted(text))]"
        }
        return isNumber && (existing == .number || isCounting) ? text : RequestBody.quoted(text)
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            case _: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    // MARK: Identity

    /// The body as a part of the list's key (R45): sorted members, without the places of the position and the size, and
    /// without secrets. A digest replaces a text of more than 1 KiB.
    func canonicalText(without places: [JSONPointer]) -> String {
        let text = canonical(document.root, JSONPointer.whole, places)
        guard text.utf8.count > 1_024 else { return text }
        let bytes = Array(text.utf8)
        let digests = [0, 1].map { (seed: UInt64) in bytes.withUnsafeBytes { XXH64.hash($0, seed: seed) } }
        return "digest:" + digests.map { String($0, radix: 16) }.joined()
    }

    /// Whether a member of the body is a secret. Such a body is not stored.
    var hasSecret: Bool { hasSecret(document.root) }

    private func hasSecret(_ value: JSONValue) -> Bool {
        switch document.kind(of: value) {
        case .object: document.members(of: value).contains { isSecret($0.name, $0.value) || hasSecret($0.value) }
        case .array: document.elements(of: value).contains { hasSecret($0) }
        case .string, .number, .boolean, .null: false
        }
    }

    private func isSecret(_ name: String, _ value: JSONValue) -> Bool {
        ParameterNames.isSecret(OriginURL.Parameter(name: name, value: document.scalarText(value) ?? ""))
    }

    private func canonical(_ value: JSONValue, _ place: JSONPointer, _ places: [JSONPointer]) -> String {
        switch document.kind(of: value) {
        case .object:
            let members = document.members(of: value).filter { name, value in
                if places.contains(place.appending(name)) { return false }
                if ParameterNames.isPaging(name), place.tokens.isEmpty || place.tokens == ["variables"] { return false }
                return !isSecret(name, value)
            }
            let texts = members.sorted { $0.name < $1.name }.map { name, value in
                RequestBody.quoted(name) + ":" + canonical(value, place.appending(name), places)
            }
            return "{" + texts.joined(separator: ",") + "}"
        case .array:
            let elements = document.elements(of: value).enumerated().map { index, element in
                canonical(element, place.appending("\(index)"), places)
            }
            return "[" + elements.joined(separator: ",") + "]"
        case .string:
            return RequestBody.quoted(document.string(value) ?? "")
        case .number, .boolean, .null:
            return String(decoding: document.raw(value), as: UTF8.self)
        }
    }
}

extension JSONDocument {
    /// The text with another value at a place. A missing member is added to its object. Returns nil if that object is
    /// missing, too.
    func setting(_ pointer: JSONPointer, to text: String) -> [UInt8]? {
        if let value = value(at: pointer) {
            return Array(bytes[..<value.start]) + Array(text.utf8) + Array(bytes[value.end...])
        }
        guard let name = pointer.tokens.last else { return nil }
        let holder = JSONPointer(tokens: Array(pointer.tokens.dropLast()))
        guard let object = value(at: holder), kind(of: object) == .object else { return nil }
        let separator = members(of: object).isEmpty ? "" : ","
        let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let member = separator + "\"" + quoted + "\":" + text
        return Array(bytes[..<(object.end - 1)]) + Array(member.utf8) + Array(bytes[(object.end - 1)...])
    }
}
