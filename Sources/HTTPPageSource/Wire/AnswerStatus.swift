import PageModel

/// What the status of an answer says about the page that was asked for (RFC 9110, 15; R24, R27).
enum AnswerStatus: Equatable {
    /// The page is in the body.
    case page
    /// There is a page, and nothing on it.
    case empty
    /// The page is as it was.
    case notModified
    /// There is nothing at that place any more.
    case pastEnd
    case failure(FetchFailure)

    /// - Parameters:
    ///   - isConditional: whether a validator was sent.
    ///   - isBeyondFirst: whether a place in the list was asked for; page one is never beyond the end.
    ///   - now: what counts as now where the answer has no `Date`.
    init(_ response: HTTPPageResponse, isConditional: Bool, isBeyondFirst: Bool, now: Timestamp) {
        func refusal(_ failureClass: FetchFailure.Class, _ message: String) -> AnswerStatus {
            .failure(FetchFailure(failureClass, message, isRetryable: false, httpStatus: response.status))
        }
        switch response.status {
        case 200, 203:
            // 203: a proxy has changed something. It is what there is.
            self = .page
        case 204, 205:
            self = .empty
        case 206:
            // Some APIs take a page for a part of the list, and say which (14.4). A part in bytes is a cut body: nobody
            // asked for one.
            let range = response.header("Content-Range")?.trimmingSpaces().lowercased()
            self =
                range.map { !$0.hasPrefix("bytes") } ?? false
                ? .page
                : refusal(.undecodable, "the origin answered with a part (206), and not with a part of the list")
        case 304:
            self =
                isConditional
                ? .notModified : refusal(.hostile, "the origin answered 304 to a request without a validator")
        case 400 where isBeyondFirst, 404 where isBeyondFirst, 416 where isBeyondFirst:
            self = .pastEnd
        case ..<200:
            self = refusal(.hostile, "the origin answered \(response.status), and nothing after it")
        case 407:
            self = refusal(.forbidden, "a proxy wants to know who is asking (407)")
        default:
            var failure = FetchFailure.status(response.status, retryAfter: AnswerStatus.pause(response, now))
            if response.status == 403, let pause = AnswerStatus.pause(response, now) {
                // Some origins say "too many" with 403: and when to come again, or that nothing is left.
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
