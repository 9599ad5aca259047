import PageModel
import PagedRepository
import Synchronization

/// An origin that marks the pages of another origin: how long they are fresh, and whether they may be stored.
///
/// State: the mark, under a mutex.
final class MarkedOrigin: PageSource {
    typealias Mark = @Sendable (PageRequest, inout FetchedPage) -> Void

    let origin: StagedOrigin
    private let mark: Mutex<Mark>

    init(_ origin: StagedOrigin, _ mark: @escaping Mark = { _, _ in }) {
        self.origin = origin
        self.mark = Mutex(mark)
    }

    /// Replaces the mark for all later answers.
    func mark(_ change: @escaping Mark) { mark.withLock { $0 = change } }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }
    var requests: [PageRequest] { origin.requests }

    /// Returns `notModified` when the request carries the validator of the page.
    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard case .page(var page) = try await origin.fetch(request) else { return .pastEnd }
        let mark = mark.withLock { $0 }
        mark(request, &page)
        if let validator = request.validator, validator == page.validator {
            return .notModified(total: page.total, validator: nil)
        }
        return .page(page)
    }
}

/// A mark that forbids storing the page.
let noStore: MarkedOrigin.Mark = { _, page in page.mayBeStored = false }
