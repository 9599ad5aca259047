import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization

/// A source of numbered pages that learns the page size from page one, like a source over HTTP. A short page one
/// teaches too small a grid. Page one is short because the list is short, or because items are hidden.
///
/// State: the learned size, under a mutex.
final class LearningSource: RelayedSource {
    let source: any PageSource
    private let plan: OriginPlan
    private let learned: Mutex<Int?>

    init(_ source: any PageSource, _ plan: OriginPlan) {
        self.source = source
        self.plan = plan
        learned = Mutex(nil)
    }

    var access: PagingAccess {
        guard plan.style == .page else { return source.access }
        return .grid(size: learned.withLock { $0 } ?? plan.usualSize)
    }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard plan.style == .page else { return try await source.fetch(request) }
        var request = request
        if case .offset(let offset) = request.target {
            let size = learned.withLock { $0 } ?? plan.usualSize
            request.target = .offset(offset / size * plan.usualSize)
        }
        let answer = try await source.fetch(request)
        if request.target == .first, case .page(let page) = answer, !page.content.isEmpty {
            let isWhole = page.total.exactCount.map { $0 <= page.content.count } ?? false
            learned.withLock { size in
                // A page one that is the whole list does not change a known size.
                if size == nil || !isWhole { size = page.content.count }
            }
        }
        return answer
    }
}
