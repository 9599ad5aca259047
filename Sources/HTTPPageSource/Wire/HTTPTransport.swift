/// Sends single requests. Redirects are returned as answers: the source decides whether to follow one (R45).
public protocol HTTPTransport: Sendable {
    /// Sends the request once, and returns the answer with its complete body.
    /// - Throws: `FetchFailure`, whose class names the cause. `transport` means the connection failed, and `timeout`
    ///   means a limit of time was passed. `limitExceeded` means a limit of size was passed, or the connection is not
    ///   trusted. `undecodable` means the body cannot be decompressed. `rejected` means the request cannot be sent.
    ///   `forbidden` means a proxy requires authentication. Throws `CancellationError` when the task is cancelled.
    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse
}

/// One complete request, secrets included. `HTTPSource` does not keep requests after they were sent. The printed form
/// shows no secrets.
public struct HTTPPageRequest: Sendable {
    /// `GET`, `HEAD` or `POST`.
    public var method: String
    /// An absolute http or https URL.
    public var url: String
    /// The headers of the request, in addition to those of HTTP itself.
    public var headers: [HTTPField]
    /// The body of a POST request. `nil` sends none.
    public var body: [UInt8]?

    /// Makes a request.
    public init(method: String = "GET", url: String, headers: [HTTPField] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// One answer, with its complete body, within the limits of the transport.
public struct HTTPPageResponse: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The fields of the header, in order.
    public var headers: [HTTPField]
    /// The body, decompressed. Empty for `HEAD`.
    public var body: [UInt8]
    /// The final URL after redirects, without secrets. `nil` without a redirect. Relative links are resolved against
    /// this URL (RFC 3986, 5.1.3).
    var redirectedTo: OriginURL?

    /// Makes an answer.
    public init(status: Int, headers: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of a header, or nil when there is none. Names are compared without regard to case (RFC 9110, 5.1).
    /// Several values are joined with commas.
    public func header(_ name: String) -> String? {
        let values = values(name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The values of all fields with this name, in order.
    func values(_ name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

/// A header field. Its printed form shows only its name, because its value may be a secret.
public struct HTTPField: Hashable, Sendable {
    /// The name of the field, compared without regard to case (RFC 9110, 5.1).
    public var name: String
    /// The value of the field, which may be a secret.
    public var value: String

    /// Makes a field with this name and value.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
