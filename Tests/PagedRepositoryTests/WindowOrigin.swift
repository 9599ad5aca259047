import PageModel
import PagedRepository
import Synchronization

/// A list of which only the first items can be fetched.
final class WindowOrigin: PageSource {
    let list: ListOrigin
    let window: Mutex<Int>
    /// Positions that the origin refuses, besides those after the window.
    let refused = Mutex<Range<Int>?>(nil)
    /// Whether a page that extends past the window is refused.
    let refusesWhole = Mutex(false)
    /// Whether refused requests fail with 422, in place of `answer`.
    let fails = Mutex(false)
    let answer: PageAnswer

    init(_ list: ListOrigin, window: Int, answer: PageAnswer = .pastEnd) {
        self.list = list
        self.window = Mutex(window)
        self.answer = answer
    }

    var access: PagingAccess { list.access }
    var usage: SourceUsage { list.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let answer = try await list.fetch(request)
        guard case .offset(let offset) = request.target else { return answer }
        let window = window.withLock(\.self)
        let end = refusesWhole.withLock(\.self) ? offset + 10 : offset + 1
        if end > window || refused.withLock({ $0?.contains(offset) }) == true {
            if fails.withLock(\.self) { throw FetchFailure.status(422) }
            return self.answer
        }
        guard case .page(let page) = answer, offset + page.content.count > window else { return answer }
        return .page(FetchedPage(content: named(Array(list.names[offset..<window])), total: page.total))
    }
}
