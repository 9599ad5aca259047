#if Tool
import HostileOrigin
import PageModel
import Testing

/// Something that an origin does instead of answering, and what has to be made of it.
struct Trouble: Sendable, CustomTestStringConvertible {
    /// What the origin does, as a sentence without its subject.
    let testDescription: String
    /// The classes of failure that it may be: mostly one.
    let classes: Set<FetchFailure.Class>
    /// Whether it is tried again (R27); nil where either will do.
    let isRetryable: Bool?
    /// The status in the ledger; nil when there need not be one.
    let status: Int?
    /// A word that the message must have: the limit (R43), or what came instead.
    let word: String?
    /// It ends by a limit of time and by nothing else.
    let isEndless: Bool
    /// It is refused for a limit that is lower here than by default.
    let needsLowLimits: Bool
    /// Made for the address of another origin.
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

    /// The same steps, whatever is asked and whoever else is there.
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

    /// The same answer, whatever is asked and whoever else is there.
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

    /// R27: the classes that are tried again. All others are for good.
    private static let retryable: Set<FetchFailure.Class> = [.transport, .timeout, .throttled, .server]

    /// How often it may be asked in one attempt: redirects are followed, five of them.
    var mostRequests: Int { word == "redirect" ? 6 : 1 }

    static let all = silences + brokenMessages + oversized + statuses + bodies + redirects + nextLinks
}
#endif
