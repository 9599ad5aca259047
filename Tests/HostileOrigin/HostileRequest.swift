/// The head of a client's request, up to the empty line. Requests of these tests have no body.
public struct HostileRequest: Sendable, Hashable {
    /// The whole head as received. Tests search it for secrets.
    public var text: String
    public var method: String
    /// The path and the query.
    public var target: String
    public var headers: [Field]

    /// A header field.
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String
    }

    /// Parses a head. Returns nil when it is no request.
    /// - Parameter head: The request line and the header fields.
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

    /// Returns the value of a header field, or nil when the field is missing.
    public func header(_ name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }

    /// Returns the value of a query parameter as sent, or nil when the parameter is missing.
    public func parameter(_ name: String) -> String? {
        for pair in target.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") where pair.hasPrefix("\(name)=")
        {
            return String(pair.dropFirst(name.count + 1))
        }
        return nil
    }
}
