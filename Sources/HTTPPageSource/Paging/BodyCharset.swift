import PageModel

/// Bodies in another encoding than UTF-8, which is the encoding of JSON (RFC 8259, 8.1). A body that is valid JSON in
/// UTF-8 is never converted, whatever its header says.
enum BodyCharset {
    /// An encoding that the bytes of a body show, where its header names ISO-8859-1. The header alone shows none: many
    /// origins send it by default.
    enum Shown: String, Codable, Hashable, Sendable {
        case unicode = "UTF-8"
        case western = "ISO-8859-1"
    }

    private static let western: Set<String> = [
        "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1",
    ]

    /// The encoding that a body shows. Returns nil where the header does not name ISO-8859-1, and for a body in ASCII,
    /// which is the same in both.
    static func shown(by response: HTTPPageResponse) -> Shown? {
        guard let name = name(in: response), western.contains(name), order(of: response.body) == nil,
            response.body.contains(where: { $0 >= 0x80 })
        else { return nil }
        return isUnicode(response.body) ? .unicode : .western
    }

    /// The body in UTF-8. Returns nil when nothing shows another encoding.
    /// - Throws: `FetchFailure` with class `undecodable` when the encoding is not supported, or the bytes are not valid
    ///   in it.
    static func converted(_ response: HTTPPageResponse) throws(FetchFailure) -> [UInt8]? {
        let body = response.body
        if let isBig = order(of: body) {
            let mark = body.starts(with: [0xFF, 0xFE]) || body.starts(with: [0xFE, 0xFF]) ? 2 : 0
            guard body.count.isMultiple(of: 2) else {
                throw refusal(response, "UTF-16, and ends in the middle of a unit")
            }
            let units = stride(from: mark, to: body.count, by: 2).map { index in
                let (first, second) = (UInt16(body[index]), UInt16(body[index + 1]))
                return isBig ? first << 8 | second : second << 8 | first
            }
            // A surrogate without its other half stands for no character (RFC 2781, 2.2).
            guard let text = String(validating: units, as: UTF16.self) else { throw refusal(response, "broken UTF-16") }
            return Array(text.utf8)
        }
        guard let name = name(in: response), !["utf-8", "utf8", "us-ascii", "ascii"].contains(name) else { return nil }
        guard western.contains(name) else {
            throw refusal(response, "\(name), and only UTF-8, UTF-16 and ISO-8859-1 are supported")
        }
        guard !isUnicode(body) else { return nil }
        // Most origins that send these bytes mean windows-1252, which has other characters there.
        guard !body.contains(where: { (0x80...0x9F).contains($0) }) else {
            throw refusal(response, "\(name), with bytes that are no characters of it")
        }
        // The body may be in UTF-8 with a broken byte. A conversion would garble all of its other characters.
        guard !hasSequence(body) else { throw refusal(response, "\(name), with characters in UTF-8") }
        var text: [UInt8] = []
        text.reserveCapacity(body.count + body.count / 8)
        for byte in body {
            if byte < 0x80 { text.append(byte) } else { text += [0xC0 | byte >> 6, 0x80 | byte & 0x3F] }
        }
        return text
    }

    private static func isUnicode(_ body: [UInt8]) -> Bool { String(validating: body, as: UTF8.self) != nil }

    /// Whether a body has a character of several bytes in UTF-8.
    private static func hasSequence(_ body: [UInt8]) -> Bool {
        func isContinued(_ index: Int, _ count: Int) -> Bool {
            index + count < body.count && body[(index + 1)...(index + count)].allSatisfy { $0 & 0xC0 == 0x80 }
        }
        return body.indices.contains { index in
            switch body[index] {
            case 0xC2...0xDF: return isContinued(index, 1)
            case 0xE0...0xEF: return isContinued(index, 2)
            case 0xF0...0xF4: return isContinued(index, 3)
            case _: return false
            }
        }
    }

    /// Whether a body in UTF-16 has the larger byte first, by its byte order mark or by its first character. JSON
    /// begins with an ASCII character. Returns nil for a body that is not in UTF-16.
    private static func order(of body: [UInt8]) -> Bool? {
        guard body.count >= 4, !(body.starts(with: [0xFF, 0xFE]) && body[2] == 0 && body[3] == 0) else { return nil }
        switch (body[0], body[1]) {
        case (0xFE, 0xFF): return true
        case (0xFF, 0xFE): return false
        case (0, 1...0x7F): return true
        case (1...0x7F, 0) where body[3] == 0 && body[2] != 0: return false
        case _: return nil
        }
    }

    /// The charset of the header, in lower case. Returns nil without one.
    private static func name(in response: HTTPPageResponse) -> String? {
        guard let type = response.header("Content-Type")?.lowercased(), let mark = type.firstRange(of: "charset=")
        else {
            return nil
        }
        let name = type[mark.upperBound...].prefix { $0 != ";" && $0 != "," }.filter {
            $0 != "\"" && $0 != "'" && $0 != " "
        }
        return name.isEmpty || name.utf8.count > 40 ? nil : name
    }

    private static func refusal(_ response: HTTPPageResponse, _ encoding: String) -> FetchFailure {
        FetchFailure(
            .undecodable, "the answer is not UTF-8: it is in \(encoding)", isRetryable: false,
            httpStatus: response.status)
    }
}
