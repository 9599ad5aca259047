import PageModel
import PagedRepository
import Synchronization

/// A list of an origin that accepts any offset and size, counts exactly, and changes only through its methods.
final class ChangedOrigin: PageSource, PromptSource {
    // The state under the mutex: the number and version of each item in order, and the usage.
    private struct State {
        var items: [(number: Int, version: Int)]
        var usage = SourceUsage()
        var next: Int
    }

    private let state: Mutex<State>
    private let pageSize: Int

    init(count: Int, pageSize: Int) {
        self.pageSize = pageSize
        state = Mutex(State(items: (0..<count).map { ($0, 0) }, next: count))
    }

    var access: PagingAccess { .offsets }
    var probeSize: Int? { 4 }
    var usage: SourceUsage { state.withLock { $0.usage } }
    var count: Int { state.withLock { $0.items.count } }

    func insert(at position: Int) {
        state.withLock { state in
            state.items.insert((state.next, 0), at: position)
            state.next += 1
        }
    }
    func delete(at position: Int) { state.withLock { _ = $0.items.remove(at: position) } }
    func move(from: Int, to: Int) { state.withLock { $0.items.insert($0.items.remove(at: from), at: to) } }
    func edit(at position: Int) { state.withLock { $0.items[position].version += 1 } }

    func item(_ position: Int) -> RawItem { state.withLock { ChangedOrigin.item($0.items[position]) } }

    private static func item(_ item: (number: Int, version: Int)) -> RawItem {
        let padding = String(repeating: "x", count: 100)
        return RawItem(
            payload: Array(#"{"id":"i\#(item.number)","version":\#(item.version),"text":"\#(padding)"}"#.utf8),
            id: "i\(item.number)")
    }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        state.withLock { state in
            let start: Int = if case .offset(let offset) = request.target { min(offset, state.items.count) } else { 0 }
            let end = min(start + (request.size ?? pageSize), state.items.count)
            let content = PageContent(state.items[start..<end].map(ChangedOrigin.item))
            state.usage.requests += 1
            state.usage.bytesReceived += content.bytes.count
            return .page(FetchedPage(content: content, total: .exact(state.items.count)))
        }
    }
}
