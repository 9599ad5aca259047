// The reason why a text is not a URL of an origin.
extension OriginURL {
    /// Returns the reason why a text is not a usable URL, for people. Returns nil when this check finds none.
    static func refusal(of text: String) -> String? {
        guard let mark = text.firstRange(of: "://"),
            ["http", "https"].contains(text[..<mark.lowerBound].lowercased())
        else { return "not an http or https URL" }
        let authority = text[mark.upperBound...].prefix { !"/?#".contains($0) }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        // Other letters need the rules of IDNA. A program that applies only some of them would reach another host.
        if !place.utf8.allSatisfy({ $0 < 0x80 }) {
            return "not usable: its host has letters outside ASCII; write the host in its network form (xn--…)"
        }
        guard let colon = place.lastIndex(of: ":"), !place[colon...].contains("]") else { return nil }
        let port = place[colon...].dropFirst()
        if port.isEmpty { return nil }
        let isPort = port.utf8.allSatisfy { (0x30...0x39).contains($0) } && (1...65_535).contains(Int(port) ?? 0)
        return isPort ? nil : "not usable: a port is a number from 1 to 65535"
    }
}

extension String {
    /// The text with percent escapes in place of the bytes that a URL must not contain (RFC 3986, 2). Escapes (`%41`)
    /// stay as they are. The authority stays as it is, too, because brackets surround an address there. Foundation
    /// would encode the whole component again, escapes included.
    var escapingIllegalBytes: String {
        var rest = utf8[...]
        var result: [UInt8] = []
        if let start = authorityStart {
            let end = rest[start...].firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
            result += rest[..<end]
            rest = rest[end...]
        }
        for index in rest.indices {
            let byte = rest[index]
            let isEscape =
                byte == UInt8(ascii: "%")
                && rest[rest.index(after: index)...].prefix(2).count(where: \.isHexDigit) == 2
            if isEscape || byte.isLegalInURL { result.append(byte) } else { result += byte.percentEncoded.utf8 }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether the authority in the text is ASCII. True for a text without one.
    var hasPlainAuthority: Bool {
        authorityStart.map { start in
            self[start...].prefix { !"/?#".contains($0) }.utf8.allSatisfy { $0 < 0x80 }
        } ?? true
    }

    /// The position after `//`, if an authority follows there.
    private var authorityStart: String.Index? {
        if hasPrefix("//") { return index(startIndex, offsetBy: 2) }
        guard let mark = firstRange(of: "://"), !self[..<mark.lowerBound].contains(where: { "/?#".contains($0) })
        else { return nil }
        return mark.upperBound
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self & 0xDF)
    }

    /// Whether the byte may stand in a path, a query or a fragment.
    fileprivate var isLegalInURL: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case _: "-._~:/?#@!$&'()*+,;=".utf8.contains(self)
        }
    }

    var percentEncoded: String {
        let hex = String(self, radix: 16, uppercase: true)
        return "%" + (hex.count == 1 ? "0" + hex : hex)
    }
}
