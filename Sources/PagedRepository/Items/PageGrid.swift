import PageModel
import Synchronization

/// The page size of an origin with page numbers: the requested size, until page one shows another one.
///
/// State, under a mutex: the requested and the received size, and whether an answer has proven the received one. The
/// answer for page one sets all three.
final class PageGrid: Sendable {
    private struct State {
        /// The size with which page one was requested. All later pages are requested with the same size. With another
        /// size, an origin that cuts its pages by a size of its own, or hides an item of page one, would begin the
        /// pages at other positions.
        var requested: Int
        /// The number of items of page one. Positions are counted with it.
        var size: Int
        /// Whether a page one that was not the whole list had this size.
        var isProven = false
    }

    private let state: Mutex<State>

    init(_ size: Int) {
        state = Mutex(State(requested: size, size: size))
    }

    var size: Int { state.withLock { $0.size } }
    var requested: Int { state.withLock { $0.requested } }

    /// Returns the page that begins at `offset`, counted from 0, and the size to request.
    /// - Throws: `FetchFailure` when no page begins there. The items of the answer would be stored at wrong positions.
    func page(at offset: Int) throws(FetchFailure) -> (index: Int, size: Int) {
        let (requested, size) = state.withLock { ($0.requested, $0.size) }
        guard offset % size == 0 else { throw .notAskedThisWay("position \(offset): its pages have \(size) items") }
        return (offset / size, requested)
    }

    /// Learns the page size from the answer for the page number `index`, counted from 0.
    /// - Throws: `FetchFailure` when page one has not proven a size, and the answer has another size than requested
    ///   although the list goes on. The positions of the items are then unknown.
    func learn<Value>(_ page: ItemPage<Value>, index: Int, asked: Int) throws(FetchFailure) {
        let count = page.items.count
        let isFit = state.withLock { state in
            if index == 0 {
                // An empty page one, and a page one that is the whole list, prove no size.
                state.isProven = count > 0 && !page.ends(at: count)
                state.size = state.isProven ? count : asked
                state.requested = asked
                return true
            }
            return state.isProven || count == asked || count == 0
                || count < asked && page.mayEnd(at: index * asked + count)
        }
        guard isFit else {
            throw FetchFailure(
                .undecodable,
                "position \(index * asked) has \(count) items, not \(asked): page one has to be fetched first",
                isRetryable: false)
        }
    }
}

extension ItemPage {
    /// Whether the page itself states that the list ends with this page, at `position`.
    func ends(at position: Int) -> Bool {
        if let hasMore { return !hasMore }
        return total.exactCount.map { $0 <= position } ?? false
    }

    /// Whether the list may end at `position`, as far as the page states.
    func mayEnd(at position: Int) -> Bool {
        if let hasMore { return !hasMore }
        return total.exactCount.map { $0 == position } ?? true
    }
}
