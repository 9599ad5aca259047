#if Tool
import HostileOrigin
import PageModel
import Testing

/// A misbehaviour of an origin, and the failure that it must lead to.
struct Trouble: Sendable, CustomTestStringConvertible {
    /// The behaviour, as a sentence without its subject.
    let testDescription: String
    /// The allowed failure classes, usually one.
    let classes: Set<FetchFailure.Class>
    /// Whether the failure is retryable (R27). `nil` allows both.
    let isRetryable: Bool?
    /// The HTTP status in the ledger. `nil` allows any value.
    let status: Int?
    /// A word that the message must contain: the limit (R43), or a description of the answer.
    let word: String?
    /// Whether only a time limit ends the request.
    let isEndless: Bool
    /// Whether the failure needs limits below the defaults.
    let needsLowLimits: Bool
    /// Returns the behaviour for the address of another origin.
    let behaviour: @Sendable (String) -> Behaviour

    init(
        _ name: String, _ classes: Set<FetchFailure.Class>, isRetryable: Bool? = nil, status: Int? = nil,
        word: String? = nil,
        isEndless: Bool = false, needsLowLimits: Bool = false, _ behaviour: @escaping @Sendable (String) -> Behaviour
    ) {
        testDescription = name
        self.classes = classes
        let verdicts = Set(classes.map { Trouble.retryable.contains($0) })
        self.isRetryable = isRetryable ?? (verdicts.count == 1 ? verdicts.first : nil)
        self.status = status
        self.word = word
        self.isEndless = isEndless
        self.needsLowLimits = needsLowLimits
        self.behaviour = behaviour
    }

    /// Creates a trouble with the same steps for every request.
    init(
        _ name: String, _ classes: Set<FetchFailure.Class>, isRetryable: Bool? = nil, status: Int? = nil,
        word: String? = nil,
        isEndless: Bool = false, needsLowLimits: Bool = false, steps: [Step]
    ) {
        self.init(
            name, classes, isRetryable: isRetryable, status: status, word: word, isEndless: isEndless,
            needsLowLimits: needsLowLimits
        ) { _ in .script(steps) }
    }

    /// Creates a trouble with the same answer for every request.
    init(
        _ name: String, _ classes: Set<FetchFailure.Class>, isRetryable: Bool? = nil, status: Int? = nil,
        word: String? = nil,
        needsLowLimits: Bool = false, answer: RawAnswer
    ) {
        self.init(name, classes, isRetryable: isRetryable, status: status, word: word, needsLowLimits: needsLowLimits) {
            _ in
            .answer(answer)
        }
    }

    /// The retryable failure classes. All others are permanent (R27).
    private static let retryable: Set<FetchFailure.Class> = [.transport, .timeout, .throttled, .server]

    /// The largest allowed number of requests in one attempt. Up to five redirects are followed.
    var mostRequests: Int { word == "redirect" ? 6 : 1 }

    static let all = silences + brokenMessages + oversized + statuses + bodies + redirects + nextLinks
}
#endif
