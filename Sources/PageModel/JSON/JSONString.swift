/// The text of a JSON string.
package enum JSONString {
    /// Returns the text of the string that makes up the whole of `json`, with its escapes decoded. Returns `nil` for
    /// any other JSON, and for a string with an escaped lone surrogate, which is not valid text.
    package static func text(of json: String) -> String? {
        Array(json.utf8).withUnsafeBytes { bytes in
            let scanner = JSONScanner(bytes: bytes)
            guard let string = scanner.string(0), string.end == bytes.count else { return nil }
            return String(validating: scanner.text(1..<string.end - 1), as: UTF8.self)
        }
    }
}
