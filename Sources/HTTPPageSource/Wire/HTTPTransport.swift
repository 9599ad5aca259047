/// Sends one request and brings its answer, or throws a `FetchFailure`. Redirects come back as they are: whether to
/// follow one is the source's decision (R45).
public protocol HTTPTransport: Sendable {
    /// Sends the request once, and brings the answer with its body whole.
    /// - Throws: `FetchFailure` with class `transport`, `timeout` or `hostile`; `CancellationError`.
    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse
}

/// One request, complete with secrets; lives only as long as it takes to send it. Printed, it shows none of them.
public struct HTTPPageRequest: Sendable {
    /// `GET` or `HEAD`.
    public var method: String
    /// An absolute http or https URL.
    public var url: String
    /// What is sent besides what HTTP itself needs.
    public var headers: [HTTPField]

    /// A request; each parameter is the property of its name.
    public init(method: String = "GET", url: String, headers: [HTTPField] = []) {
        self.method = method
        self.url = url
        self.headers = headers
    }
}

/// One answer, its body whole and within the limits.
public struct HTTPPageResponse: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The fields of the header, in order.
    public var headers: [HTTPField]
    /// The body, decompressed; empty for `HEAD`.
    public var body: [UInt8]
    /// Where it came from in the end, without secrets; nil where it was asked for. Relative links start there (RFC
    /// 3986, 5.1.3).
    var redirectedTo: OriginURL?

    /// An answer; each parameter is the property of its name.
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
    /// Its name; compared without regard to case (RFC 9110, 5.1).
    public var name: String
    /// Its value, which may be a secret.
    public var value: String

    /// A field of this name and value.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
