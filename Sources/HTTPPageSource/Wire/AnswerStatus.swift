import PageModel

/// The meaning of an answer's status for the requested page (RFC 9110, 15; R24, R27).
enum AnswerStatus: Equatable {
    /// The page is in the body.
    case page
    /// The page exists and has no items.
    case empty
    /// The page has not changed.
    case notModified
    /// The position is past the end of the list.
    case pastEnd
    /// The position is past the end of the list, or the origin fails.
    case notFound
    case failure(FetchFailure)

    /// - Parameters:
    ///   - isConditional: whether the request carried a validator.
    ///   - isBeyondFirst: whether the request named a position in the list. Page one is never past the end.
    ///   - now: the present time for answers without a `Date` field.
    init(_ response: HTTPPageResponse, isConditional: Bool, isBeyondFirst: Bool, now: Timestamp) {
        func refusal(_ failureClass: FetchFailure.Class, _ message: String) -> AnswerStatus {
            .failure(FetchFailure(failureClass, message, isRetryable: false, httpStatus: response.status))
        }
        switch response.status {
        case 200, 203:
            // 203: a proxy has changed the answer. The changed page is used.
            self = .page
        case 204, 205:
            self = .empty
        case 206:
            // Some APIs answer with 206 when a page is a part of the list, and name its range (RFC 9110, 14.4). A range
            // in bytes is a cut body, which no request of this source asks for.
            let range = response.header("Content-Range")?.trimmingSpaces().lowercased()
            self =
                range.map { !$0.hasPrefix("bytes") } ?? false
                ? .page
                : refusal(.undecodable, "the origin sent a byte range of its answer (206) without a request for one")
        case 304:
            self =
                isConditional
                ? .notModified : refusal(.limitExceeded, "the origin answered 304 to a request without a validator")
        case 400 where isBeyondFirst, 416 where isBeyondFirst:
            self = .pastEnd
        case 404 where isBeyondFirst:
            self = .notFound
        case ..<200:
            self = refusal(
                .limitExceeded, "the origin sent the interim status \(response.status) and no final answer")
        case 406:
            self = refusal(.rejected, "the origin returns no media type that the Accept header names (406)")
        case 407:
            self = refusal(.forbidden, "a proxy requires authentication (407)")
        default:
            let pause = AnswerStatus.pause(response, now)
            var failure = FetchFailure.status(
                response.status, retryAfter: pause,
                message: pause.map { pause in
                    "the origin answered \(response.status), and asks to wait \(pause.components.seconds) s"
                })
            if response.status == 403, let pause = AnswerStatus.pause(response, now) {
                // Some origins answer 403 for too many requests, with a time to wait or a remaining count of 0.
                failure = FetchFailure(
                    .throttled, failure.message, isRetryable: true, httpStatus: 403, retryAfter: pause)
            }
            self = .failure(failure)
        }
    }

    private static func pause(_ response: HTTPPageResponse, _ now: Timestamp) -> Duration? {
        let now = response.values("Date").first.flatMap { HTTPDate.parse($0.trimmingSpaces()) } ?? now
        if let asked = response.values("Retry-After").first.flatMap({ RetryAfter.pause($0, now: now) }) { return asked }
        return [403, 429].contains(response.status) ? RateLimit.pause(response, now: now) : nil
    }
}
