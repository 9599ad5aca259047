import PageModel
import PagedRepository
import PagedRepositoryTesting

/// Tells what is asked and answered; and ends everything where a life asks without end, since nothing behind it would ever say so.
struct TracedSource: PageSource {
    let origin: SimulatedOrigin
    let life: Simulation

    private let clock: any SyncClock
    private var trace: (@Sendable (String) -> Void)? { life.trace }
    /// No life that comes to an end is known to ask a tenth as often.
    private static let mostRequests = 5_000

    init(_ origin: SimulatedOrigin, _ clock: any SyncClock, in life: Simulation) {
        self.origin = origin
        self.clock = clock
        self.life = life
    }

    /// Seconds since the clock stood at its usual beginning.
    private var time: String { "\(clock.now() - Timestamp(milliseconds: 1_800_000_000_000))" }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }
    /// Two items are enough to recognise a place.
    var probeSize: Int? { 2 }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard usage.requests < TracedSource.mostRequests else {
            fatalError("seed \(life.seed), \(life.subject), \(life.mode): asks without end (R31, G4)")
        }
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
        }
    }
}
