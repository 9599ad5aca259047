/// Sends one request and brings its answer, or throws a `FetchFailure`. Redirects come back as they are: whether to
/// follow one is the source's decision (R45).
public protocol HTTPTransport: Sendable {
    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse
}

/// One request, complete with secrets; lives only as long as it takes to send it.
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

    public init(status: Int, headers: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of a header, where names are compared as RFC 9110, 5.1 wants; several values are joined with commas.
    public func header(_ name: String) -> String? {
        let values = headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

/// A header field.
public struct HTTPField: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// What an origin may not exceed (R43). Past a limit its answer is refused as a whole.
public struct HTTPLimits: Hashable, Sendable {
    /// Bytes of a body, decompressed. Default: 32 MiB.
    public var body = 32 << 20
    /// Items in one page. Default: 10,000.
    public var itemsPerPage = 10_000
    /// Bytes of one item. Default: 8 MiB.
    public var item = 8 << 20
    /// Nesting of arrays and objects. Default: 64.
    public var depth = 64
    /// Redirects followed for one request. Default: 5.
    public var redirects = 5
    /// Time until a connection stands. Default: 10 seconds.
    public var connectTimeout: Duration = .seconds(10)
    /// Time for a request in all, to the last byte of its answer. Default: 60 seconds.
    public var requestTimeout: Duration = .seconds(60)
    /// Connections to the origin at a time. Default: 8.
    public var connections = 8

    public init() {}
}
