/// Sends one request and brings its answer, or throws a `FetchFailure`. Redirects come back as they are: whether to
/// follow one is the source's decision (R45).
public protocol HTTPTransport: Sendable {
    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse
}

/// One request, complete with secrets; lives only as long as it takes to send it. Printed, it shows none of them.
public struct HTTPPageRequest: Sendable {
    public var method: String
    public var url: String
    public var headers: [HTTPField]

    public init(method: String = "GET", url: String, headers: [HTTPField] = []) {
        self.method = method
        self.url = url
        self.headers = headers
    }
}

/// One answer, its body whole and within the limits.
public struct HTTPPageResponse: Sendable {
    public var status: Int
    public var headers: [HTTPField]
    public var body: [UInt8]
    /// Where it came from in the end, without secrets; nil where it was asked for. Relative links start there (RFC 3986, 5.1.3).
    var redirectedTo: OriginURL?

    public init(status: Int, headers: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of a header, where names are compared as RFC 9110, 5.1 wants; several values are joined with commas.
    public func header(_ name: String) -> String? {
        let values = values(name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The values of all fields of that name, in order.
    func values(_ name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

/// A header field. Printed, it shows its name: its value may be a secret.
public struct HTTPField: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
