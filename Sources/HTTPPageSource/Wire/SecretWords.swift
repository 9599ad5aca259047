#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The caller's secrets, prepared for a search in texts where an origin may echo them (R45).
///
/// Short secrets are not searched for: they would match paths and numbers by accident. Letter case is ignored, because
/// an origin may return a token as a part of a host name, which is in lower case.
struct SecretWords: Sendable {
    /// The fewest bytes of a secret. Shorter secrets are not searched for.
    static let shortest = 8
    /// The fewest bytes of a user name. Shorter user names are not searched for: a user name is a secret only when it
    /// is a token, and tokens are long.
    static let shortestUser = 16

    private let words: [[UInt8]]

    /// - Parameter headers: the headers that hold credentials.
    init(headers: [HTTPField], parameters: [OriginURL.Parameter]) {
        var found = parameters.flatMap { [$0.value ?? "", $0.plainValue] }
        for field in headers {
            found.append(field.value)
            if field.name.lowercased() == "cookie" {
                // Pairs of a name and a value (RFC 6265, 4.2.1).
                found += field.value.split(separator: ";").compactMap { pair in
                    pair.firstIndex(of: "=").map { String(pair[$0...].dropFirst()) }
                }
                continue
            }
            // A scheme, followed by the credential (RFC 9110, 11.4).
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
        // The longest secret first, so that a whole header is hidden before its parts.
        words = Set(found.map { SecretWords.folded($0.trimmingSpaces()) }).filter { $0.count >= SecretWords.shortest }
            .sorted { $0.count > $1.count }
    }

    /// Whether the text contains a secret, plain or percent-encoded.
    func isIn(_ text: String) -> Bool {
        guard !words.isEmpty else { return false }
        let spellings = [text, text.percentDecoded].compactMap { $0.map { SecretWords.folded($0) } }
        return words.contains { word in spellings.contains { !$0.ranges(of: word).isEmpty } }
    }

    /// The text with `[secret]` in place of each secret.
    func hidden(_ text: String) -> String {
        guard isIn(text) else { return text }
        var bytes = Array(text.utf8)
        for word in words {
            for range in SecretWords.folded(bytes).ranges(of: word).reversed() {
                bytes.replaceSubrange(range, with: Array("[secret]".utf8))
            }
        }
        let result = String(decoding: bytes, as: UTF8.self)
        // The secret is in another encoding, so the whole text is hidden.
        return isIn(result) ? "[a text with a secret in it]" : result
    }

    private static func folded(_ text: String) -> [UInt8] { folded(Array(text.utf8)) }

    /// Lower case for ASCII letters only, byte for byte, so that positions stay the same.
    private static func folded(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
