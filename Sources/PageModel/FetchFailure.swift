/// Why a fetch failed: a class that decides about retrying, a message for people, and what the origin said.
public struct FetchFailure: Error, Hashable, Sendable {
    /// The class of a failure; the raw value is what the ledger stores and the tool prints.
    public struct Class: RawRepresentable, Hashable, Sendable {
        /// The word that is stored and printed; a source may have words of its own.
        public var rawValue: String
        /// The class of this word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The origin could not be reached, or the connection broke.
        public static let transport = Class(rawValue: "transport")
        /// No answer in time (also 408).
        public static let timeout = Class(rawValue: "timeout")
        /// The origin asks to be left alone for a while (429, 425).
        public static let throttled = Class(rawValue: "throttled")
        /// The origin failed (5xx).
        public static let server = Class(rawValue: "server")
        /// The origin refuses who is asking (401, 403).
        public static let forbidden = Class(rawValue: "forbidden")
        /// The origin refuses what is asked (other 4xx).
        public static let refused = Class(rawValue: "refused")
        /// The answer is not what was agreed on: not JSON, no items where they should be.
        public static let undecodable = Class(rawValue: "undecodable")
        /// The answer passes a limit or tries something (R43, R45).
        public static let hostile = Class(rawValue: "hostile")
        /// The answer would take away much of what is held, and has not been confirmed yet (R20).
        public static let doubtful = Class(rawValue: "doubtful")
        /// The origin repeats itself for ever (R24).
        public static let loop = Class(rawValue: "loop")
    }

    /// What kind of failure it is.
    public var failureClass: Class
    /// Whether trying again can help (R27). A source may classify its own failures.
    public var isRetryable: Bool
    /// The HTTP status of the answer; nil when there was none.
    public var httpStatus: Int?
    /// One short line; never holds secrets or item data.
    public var message: String
    /// How long the origin asked to be left alone, from the moment of its answer.
    public var retryAfter: Duration?

    /// A failure; each parameter is the property of its name. `status(_:retryAfter:message:)` makes the one that
    /// an HTTP status stands for.
    public init(
        _ failureClass: Class, _ message: String, isRetryable: Bool, httpStatus: Int? = nil,
        retryAfter: Duration? = nil
    ) {
        self.failureClass = failureClass
        self.message = message
        self.isRetryable = isRetryable
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }

    /// The failure that an HTTP status stands for, by R27.
    public static func status(_ status: Int, retryAfter: Duration? = nil, message: String? = nil) -> FetchFailure {
        let text = message ?? "the origin answered \(status)"
        return switch status {
        case 408: FetchFailure(.timeout, text, isRetryable: true, httpStatus: status, retryAfter: retryAfter)
        case 425, 429: FetchFailure(.throttled, text, isRetryable: true, httpStatus: status, retryAfter: retryAfter)
        case 401, 403: FetchFailure(.forbidden, text, isRetryable: false, httpStatus: status)
        case 500...599: FetchFailure(.server, text, isRetryable: true, httpStatus: status, retryAfter: retryAfter)
        default: FetchFailure(.refused, text, isRetryable: false, httpStatus: status)
        }
    }

    /// The origin was not heard at all, which is what opens a circuit (R32).
    public var isTransport: Bool {
        failureClass == .transport || (failureClass == .timeout && httpStatus == nil)
    }
}
