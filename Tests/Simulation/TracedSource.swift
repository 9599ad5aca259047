import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization

/// A source that traces its requests and answers, and keeps what the answers of a run have shown.
struct TracedSource: PageSource, PromptSource {
    let origin: SimulatedOrigin
    let trace: (@Sendable (String) -> Void)?

    /// The answers of the present run.
    let answers = RunAnswers()

    private let clock: any SyncClock

    init(_ origin: SimulatedOrigin, _ clock: any SyncClock, _ trace: (@Sendable (String) -> Void)?) {
        self.origin = origin
        self.clock = clock
        self.trace = trace
    }

    /// The time since the usual start of the clock.
    private var time: String { "\(clock.now() - Timestamp(milliseconds: 1_800_000_000_000))" }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }
    /// Two items are enough to recognize a position.
    var probeSize: Int? { 2 }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        do {
            let answer = try await origin.fetch(request)
            answers.note(answer)
            trace?("\(time): ask \(request.target) \(request.size.map(String.init) ?? ""): \(answer.brief)")
            return answer
        } catch {
            trace?("\(time): ask \(request.target): \(error)")
            throw error
        }
    }
}

/// The answers of an origin during one run: the total of the last one, and the ids of all received items.
///
/// State: the total and the ids, under a mutex.
final class RunAnswers: Sendable {
    private let state = Mutex((total: ListTotal.unknown, ids: Set<String>()))

    /// The ids of the received items.
    var ids: Set<String> { state.withLock { $0.ids } }

    func note(_ answer: PageAnswer) {
        state.withLock { state in
            switch answer {
            case .page(let page):
                state.total = page.total
                state.ids.formUnion(page.content.ids.compactMap(\.self))
            case .notModified(let now, _): if now != .unknown { state.total = now }
            case .pastEnd, .notFound: break
            }
        }
    }

    func restart() { state.withLock { $0 = (.unknown, []) } }

    /// Returns a violation if a run reports a list as complete although its last answer stated another total than the
    /// stored one (G2). The plan's totals must be right.
    func finding(_ report: SyncReport, _ options: SyncOptions, _ origin: SimulatedOrigin) -> String? {
        // Some faults are answers with a wrong total.
        guard !origin.hasSeen(["emptyAnswer", "emptyMinute"]), report.outcome == .complete,
            let record = report.state?.record, !record.allowsDuplicates, let known = record.total.exactCount,
            let last = state.withLock({ $0.total.exactCount }), last != known
        else { return nil }
        switch options.work {
        case .next, .positions: return nil
        case .everything, .refresh, .sweep:
            return "G2: a run reports complete with a total of \(known), and its last answer stated \(last)"
        }
    }
}

extension PageAnswer {
    fileprivate var brief: String {
        switch self {
        case .page(let page):
            "\(page.content.ids.map { $0 ?? "-" }.joined(separator: " ")) of \(page.total) next \(page.next?.text ?? "none")"
        case .notModified(let total, _): "not modified, of \(total)"
        case .pastEnd: "past the end"
        case .notFound: "not found"
        }
    }
}

extension ListSync {
    /// Runs once, and traces each action of the run.
    func run(tracing trace: (@Sendable (String) -> Void)?) async throws(StorageError) -> SyncReport {
        try await run { event in
            if case .acted(let action, let result) = event { trace?("  \(action) → \(result)") }
        }
    }
}
