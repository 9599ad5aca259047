import PageModel
import PagedRepository
import PagedRepositoryTesting

/// Tells what is asked and answered.
struct TracedSource: PageSource {
    let origin: SimulatedOrigin
    let trace: (@Sendable (String) -> Void)?

    init(_ origin: SimulatedOrigin, _ trace: (@Sendable (String) -> Void)?) {
        self.origin = origin
        self.trace = trace
    }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }
    /// Two items are enough to recognise a place.
    var probeSize: Int? { 2 }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        do {
            let answer = try await origin.fetch(request)
            trace?("ask \(request.target) \(request.size.map(String.init) ?? ""): \(answer.brief)")
            return answer
        } catch {
            trace?("ask \(request.target): \(error)")
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
