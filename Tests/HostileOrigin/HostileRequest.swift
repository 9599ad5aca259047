/// What a client sent, up to the empty line; no request of these tests has a body.
public struct HostileRequest: Sendable, Hashable {
    /// Everything as it came: where a secret would be found, wherever it stands.
    public var text: String
    public var method: String
    /// Path and query.
    public var target: String
    public var headers: [Field]

    /// A header field.
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String
    }

    /// - Parameter head: the request line and the header fields; nil when it is no request.
    init?(head: String) {
        text = head
        // "\r\n" is one character (Unicode Standard Annex 29).
        let lines = head.split(separator: "\r\n" as Character)
        let parts = (lines.first ?? "").split(separator: " ")
        guard parts.count == 3 else { return nil }
        method = String(parts[0])
        target = String(parts[1])
        headers = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return Field(name: line[..<colon].lowercased(), value: String(value))
        }
    }

    /// The target without its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The value of a header field; nil when it was not sent.
    public func header(_ name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }

    /// The value of a parameter of the query, as it was sent; nil when there is none.
    public func parameter(_ name: String) -> String? {
        for pair in target.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") where pair.hasPrefix("\(name)=")
        {
            return String(pair.dropFirst(name.count + 1))
        }
        return nil
    }
}
