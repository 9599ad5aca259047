import PageModel
import Synchronization

/// How long the pages of an origin with page numbers are: what was asked for, until page one says otherwise.
///
/// State, behind the mutex: the size, which the answers to page one set and everything else reads; and whether an
/// answer has proven it.
final class PageGrid: Sendable {
    private struct State {
        var size: Int
        /// A page one that is not the whole list has had this size.
        var isProven = false
    }

    private let state: Mutex<State>

    init(_ size: Int) {
        state = Mutex(State(size: size))
    }

    var size: Int { state.withLock { $0.size } }

    /// The page that begins at `offset`, counted from 0.
    /// - Throws: `FetchFailure` when none does; an answer would end up in the wrong place.
    func page(at offset: Int) throws(FetchFailure) -> (index: Int, size: Int) {
        let size = size
        guard offset % size == 0 else { throw .notAskedThisWay("position \(offset): its pages have \(size) items") }
        return (offset / size, size)
    }

    /// What the answer for the page number `index`, from 0, says of the size.
    /// - Throws: `FetchFailure` when it comes before any page one did, and shows that the size is another: nobody knows
    ///   then where its items belong.
    func learn<Value>(_ page: ItemPage<Value>, index: Int, asked: Int) throws(FetchFailure) {
        let count = page.items.count
        let isFit = state.withLock { state in
            if index == 0 {
                // A list that page one holds whole says nothing, nor does an empty one.
                state.isProven = count > 0 && !page.ends(at: count)
                state.size = state.isProven ? count : asked
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
    /// Whether it says itself that the list ends at this position, with its last item.
    func ends(at position: Int) -> Bool {
        if let hasMore { return !hasMore }
        return total.exactCount.map { $0 <= position } ?? false
    }

    /// Whether nothing in it speaks against the list's ending at this position.
    func mayEnd(at position: Int) -> Bool {
        if let hasMore { return !hasMore }
        return total.exactCount.map { $0 == position } ?? true
    }
}
