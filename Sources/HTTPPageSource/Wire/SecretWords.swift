#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the caller proves itself with, to be recognised wherever an origin echoes it (R45).
///
/// Short ones are not looked for: they would be found by accident, in paths and numbers that have nothing to do with
/// them. Letter case does not matter: a host that is made of a token comes back in lower case.
struct SecretWords: Sendable {
    /// Bytes from which on a secret is looked for.
    static let shortest = 8
    /// The same for a user's name, which is a secret where it is a token, and else an ordinary word.
    static let shortestUser = 16

    private let words: [[UInt8]]

    /// - Parameter headers: those that hold credentials.
    init(headers: [HTTPField], parameters: [OriginURL.Parameter]) {
        var found = parameters.flatMap { [$0.value ?? "", $0.plainValue] }
        for field in headers {
            found.append(field.value)
            if field.name.lowercased() == "cookie" {
                // RFC 6265, 4.2.1: pairs of a name and a value.
                found += field.value.split(separator: ";").compactMap { pair in
                    pair.firstIndex(of: "=").map { String(pair[$0...].dropFirst()) }
                }
                continue
            }
            // RFC 9110, 11.4: a scheme, and then the credential.
            guard let space = field.value.firstIndex(of: " ") else { continue }
            let credential = field.value[space...].trimmingSpaces()
            found.append(credential)
            guard field.value[..<space].lowercased() == "basic", let pair = Data(base64Encoded: credential) else {
                continue
            }
            let parts = String(decoding: pair, as: UTF8.self).split(separator: ":", maxSplits: 1).map(String.init)
            if let user = parts.first, user.utf8.count >= SecretWords.shortestUser { found.append(user) }
            if parts.count > 1 { found.append(parts[1]) }
        }
        // The longest first: a whole header is hidden before its parts are.
        words = Set(found.map { SecretWords.folded($0.trimmingSpaces()) }).filter { $0.count >= SecretWords.shortest }
            .sorted { $0.count > $1.count }
    }

    /// Whether the text has a secret in it, as it is or percent-encoded.
    func isIn(_ text: String) -> Bool {
        guard !words.isEmpty else { return false }
        let spellings = [text, text.percentDecoded].compactMap { $0.map { SecretWords.folded($0) } }
        return words.contains { word in spellings.contains { !$0.ranges(of: word).isEmpty } }
    }

    /// The text without its secrets.
    func hidden(_ text: String) -> String {
        guard isIn(text) else { return text }
        var bytes = Array(text.utf8)
        for word in words {
            for range in SecretWords.folded(bytes).ranges(of: word).reversed() {
                bytes.replaceSubrange(range, with: Array("[secret]".utf8))
            }
        }
        let result = String(decoding: bytes, as: UTF8.self)
        // Spelled in another way: then nothing of it is worth telling.
        return isIn(result) ? "[a text with a secret in it]" : result
    }

    private static func folded(_ text: String) -> [UInt8] { folded(Array(text.utf8)) }

    /// Byte for byte, so that places stay where they are: only the letters of ASCII change.
    private static func folded(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
