/// Bodies that hold JSON in another form: a list with one value on each line, or JSON after a prefix that keeps a
/// browser from running it as a script. Items keep their bytes (R7).
enum JSONWrapping {
    /// The body as one JSON text. Returns the body itself when it has no known form.
    static func unwrapped(_ response: HTTPPageResponse) -> [UInt8] {
        let body = response.body
        if body.starts(with: ")]}'".utf8) {
            let end = body.firstIndex(of: UInt8(ascii: "\n")) ?? body.index(body.startIndex, offsetBy: 3)
            return Array(body[(end + 1)...])
        }
        let type = response.header("Content-Type")?.lowercased() ?? ""
        let isSaid = ["ndjson", "jsonl", "jsonlines", "json-lines", "x-json-stream"].contains { type.contains($0) }
        guard isSaid || looksLikeLines(body) else { return body }
        let lines = body.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
        let filled = lines.filter { $0.contains { $0 != 0x20 && $0 != 0x09 } }
        return [UInt8(ascii: "[")] + filled.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }

    /// Whether the body looks like one object a line: the first line begins and ends with a brace, and the next line
    /// begins with one.
    private static func looksLikeLines(_ body: [UInt8]) -> Bool {
        guard body.first == UInt8(ascii: "{"), let end = body.firstIndex(of: UInt8(ascii: "\n")) else { return false }
        var last = end
        while last > 0, [0x0D, 0x20, 0x09].contains(body[last - 1]) { last -= 1 }
        guard last > 1, body[last - 1] == UInt8(ascii: "}") else { return false }
        let next = body[(end + 1)...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return next == UInt8(ascii: "{")
    }
}
