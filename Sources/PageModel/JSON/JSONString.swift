/// The text of a JSON string.
package enum JSONString {
    /// The text of the string that is the whole of `json`, without its escapes. Returns nil where `json` is anything
    /// else, and where the string holds an escaped lone surrogate, which is no text.
    package static func text(of json: String) -> String? {
        Array(json.utf8).withUnsafeBytes { bytes in
            let scanner = JSONScanner(bytes: bytes)
            guard let string = scanner.string(0), string.end == bytes.count else { return nil }
            return String(validating: scanner.text(1..<string.end - 1), as: UTF8.self)
        }
    }
}
