import PageModel

/// Counts the bytes of one answer, and compares them with the limits (R43).
struct AnswerTally {
    /// In bytes. A body that inflates to at most this size is not refused for its ratio.
    static let harmless = 1 << 20

    private let limits: HTTPLimits
    /// Bytes of the body as received over the wire.
    private(set) var received = 0
    /// Bytes of the body as returned by the decompressor.
    private(set) var inflated = 0

    init(_ limits: HTTPLimits) { self.limits = limits }

    /// Checks the header, and the length that it announces for the body. Returns nil when both are within the limits.
    /// - Parameter announced: the value of `Content-Length`. `nil` means the header has none.
    static func refusal(ofHeader fields: [HTTPField], announced: Int?, _ limits: HTTPLimits) -> FetchFailure? {
        let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        if size > limits.header { return .headerTooLarge(limits) }
        return announced.flatMap { $0 > limits.body ? .bodyTooLarge(limits) : nil }
    }

    mutating func receive(_ count: Int) -> FetchFailure? {
        received += count
        return received > limits.body ? .bodyTooLarge(limits) : nil
    }

    mutating func inflate(_ count: Int) -> FetchFailure? {
        inflated += count
        if inflated > limits.decompressedBody { return .decompressedBodyTooLarge(limits) }
        guard inflated > AnswerTally.harmless, inflated / max(limits.inflation, 1) > received else { return nil }
        return FetchFailure(
            .limitExceeded, "the body inflates more than \(max(limits.inflation, 1)) times", isRetryable: false)
    }
}

extension FetchFailure {
    static func headerTooLarge(_ limits: HTTPLimits) -> FetchFailure {
        FetchFailure(
            .limitExceeded, "the header of the answer is larger than \(limits.header) bytes, or has too many fields",
            isRetryable: false)
    }

    static func bodyTooLarge(_ limits: HTTPLimits) -> FetchFailure {
        FetchFailure(
            .limitExceeded, "the body is larger than \(limits.body) bytes; request smaller pages",
            isRetryable: false)
    }

    static func decompressedBodyTooLarge(_ limits: HTTPLimits) -> FetchFailure {
        FetchFailure(
            .limitExceeded,
            "the decompressed body is larger than \(limits.decompressedBody) bytes; request smaller pages",
            isRetryable: false)
    }
}
