import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization

/// A source that traces its requests and answers, and keeps the total of the last answer.
struct TracedSource: PageSource, PromptSource {
    let origin: SimulatedOrigin
    let trace: (@Sendable (String) -> Void)?

    /// The total of the last answer.
    let told = ToldTotal()

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
            told.note(answer)
            trace?("\(time): ask \(request.target) \(request.size.map(String.init) ?? ""): \(answer.brief)")
            return answer
        } catch {
            trace?("\(time): ask \(request.target): \(error)")
            throw error
        }
    }
}

/// The total of the last answer of an origin.
///
/// State: the total, under a mutex.
final class ToldTotal: Sendable {
    private let total = Mutex(ListTotal.unknown)

    func note(_ answer: PageAnswer) {
        switch answer {
        case .page(let page): total.withLock { $0 = page.total }
        case .notModified(let now, _): if now != .unknown { total.withLock { $0 = now } }
        case .pastEnd, .notFound: break
        }
    }

    func restart() { total.withLock { $0 = .unknown } }

    /// Returns a violation if a run reports a list as complete although its last answer stated another total than the
    /// stored one (G2). The plan's totals must be right.
    func finding(_ report: SyncReport, _ options: SyncOptions, _ origin: SimulatedOrigin) -> String? {
        // Some faults are answers with a wrong total.
        guard !origin.hasSeen(["emptyAnswer", "emptyMinute"]), report.outcome == .complete,
            let record = report.state?.record, !record.allowsDuplicates, let known = record.total.exactCount,
            let last = total.withLock({ $0.exactCount }), last != known
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
