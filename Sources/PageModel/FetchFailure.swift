/// The reason why a fetch failed: a class for retry decisions, a message for people, and details of the origin's
/// answer.
public struct FetchFailure: Error, Hashable, Sendable {
    /// The class of a failure. The ledger stores its raw value, and the command-line tool prints it.
    public struct Class: RawRepresentable, Hashable, Sendable {
        /// The stored and printed name of the class. A source may define further classes.
        public var rawValue: String
        /// The class with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The origin was unreachable, or the connection broke.
        public static let transport = Class(rawValue: "transport")
        /// No answer arrived in time. Includes status 408.
        public static let timeout = Class(rawValue: "timeout")
        /// The origin requested a pause (429, 425).
        public static let throttled = Class(rawValue: "throttled")
        /// The origin failed (5xx).
        public static let server = Class(rawValue: "server")
        /// The origin refused the caller's authorization (401, 403).
        public static let forbidden = Class(rawValue: "forbidden")
        /// The origin refused the request (other 4xx).
        public static let rejected = Class(rawValue: "rejected")
        /// The answer has an unexpected form: it is not JSON, or has no items at the expected place.
        public static let undecodable = Class(rawValue: "undecodable")
        /// The answer exceeds a limit, or violates a security rule, for example with a link to another origin (R43,
        /// R45).
        public static let limitExceeded = Class(rawValue: "limit_exceeded")
        /// The answer would remove much of the held list, and has not been confirmed yet (R20).
        public static let unconfirmed = Class(rawValue: "unconfirmed")
        /// The origin repeats its answers endlessly (R24).
        public static let loop = Class(rawValue: "loop")
        /// The storage could not be read or written. The ledger never records this class.
        public static let storage = Class(rawValue: "storage")
        /// The list was removed from the storage while it was fetched. The ledger never records this class.
        public static let purged = Class(rawValue: "purged")
    }

    /// The class of the failure.
    public var failureClass: Class
    /// Whether a retry can succeed (R27). A source may classify its own failures.
    public var isRetryable: Bool
    /// The HTTP status of the answer. `nil` when no answer arrived, or when the source reports no status with the
    /// failure.
    public var httpStatus: Int?
    /// A message of one short line. It never contains secrets or item data. Line breaks become spaces.
    public var message: String { didSet { message = FetchFailure.line(message) } }
    /// The pause that the origin requested, counted from its answer; `nil` when it requested none.
    public var retryAfter: Duration?

    /// Creates a failure. For an HTTP status, use `status(_:retryAfter:message:)`.
    public init(
        _ failureClass: Class, _ message: String, isRetryable: Bool, httpStatus: Int? = nil,
        retryAfter: Duration? = nil
    ) {
        self.failureClass = failureClass
        self.message = FetchFailure.line(message)
        self.isRetryable = isRetryable
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }

    /// Returns the text as one line. Tables, logs and the ledger hold one line for a failure.
    private static func line(_ text: String) -> String {
        guard text.contains(where: \.isNewline) else { return text }
        return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Returns the failure for an HTTP status. The statuses 408, 425, 429 and 500 to 599 are retryable; all others are
    /// permanent failures (R27).
    /// - Parameters:
    ///   - status: the status of the answer. Statuses of success are not expected.
    ///   - retryAfter: the pause that the origin requested. It is ignored for the class `rejected`. `nil` means no
    ///     pause. Defaults to `nil`.
    ///   - message: the message for people. `nil` means a sentence with the status. Defaults to `nil`.
    public static func status(_ status: Int, retryAfter: Duration? = nil, message: String? = nil) -> FetchFailure {
        let text = message ?? "the origin answered \(status)"
        return switch status {
        case 408: FetchFailure(.timeout, text, isRetryable: true, httpStatus: status, retryAfter: retryAfter)
        case 425, 429: FetchFailure(.throttled, text, isRetryable: true, httpStatus: status, retryAfter: retryAfter)
        case 401, 403: FetchFailure(.forbidden, text, isRetryable: false, httpStatus: status, retryAfter: retryAfter)
        case 500...599: FetchFailure(.server, text, isRetryable: true, httpStatus: status, retryAfter: retryAfter)
        default: FetchFailure(.rejected, text, isRetryable: false, httpStatus: status)
        }
    }

    /// Whether the origin did not answer at all. Such failures open a circuit (R32).
    public var isTransport: Bool {
        failureClass == .transport || (failureClass == .timeout && httpStatus == nil)
    }
}

extension FetchFailure: CustomStringConvertible {
    /// One line: the class and the message of the failure.
    public var description: String { "\(failureClass.rawValue): \(message)" }
}
