/// A well-formed answer: a status, fields, a body, and its correct length. Malformed answers are written step by step.
public struct RawAnswer: Sendable {
    public var status: Int
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int = 200, _ fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Returns an answer of type JSON, unless the fields contain another type.
    public static func json(_ text: String, _ fields: [(name: String, value: String)] = [], status: Int = 200)
        -> RawAnswer
    {
        var fields = fields
        let isTyped = fields.contains { $0.name.lowercased() == "content-type" }
        if !isTyped { fields.append(("Content-Type", "application/json")) }
        return RawAnswer(status: status, fields, body: Array(text.utf8))
    }

    /// Returns an answer with a status and no body.
    public static func status(_ status: Int, _ fields: [(name: String, value: String)] = []) -> RawAnswer {
        RawAnswer(status: status, fields)
    }

    /// Whether the status has no body (RFC 9110, 6.4.1). Answers to HEAD have none either, whatever their
    /// Content-Length is.
    private var hasNoBody: Bool { status == 204 || status == 304 }

    /// Returns the steps that send the answer.
    /// - Parameter request: The request that is answered.
    public func steps(to request: HostileRequest) -> [Step] {
        var lines = ["HTTP/1.1 \(status) Status"] + fields.map { "\($0.name): \($0.value)" }
        if !hasNoBody { lines.append("Content-Length: \(body.count)") }
        let head = Array((lines.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
        return [.bytes(request.method == "HEAD" || hasNoBody ? head : head + body)]
    }
}
