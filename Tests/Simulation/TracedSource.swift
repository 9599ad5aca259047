import PageModel
import PagedRepository
import PagedRepositoryTesting

/// A source that traces its requests and answers.
struct TracedSource: PageSource, PromptSource {
    let origin: SimulatedOrigin
    let trace: (@Sendable (String) -> Void)?

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
            trace?("\(time): ask \(request.target) \(request.size.map(String.init) ?? ""): \(answer.brief)")
            return answer
        } catch {
            trace?("\(time): ask \(request.target): \(error)")
            throw error
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
