import PageModel
import PagedRepository

/// Effects that the behaviour of a simulated origin really had.
enum OriginEffect: String, CaseIterable, Sendable {
    /// Some items were left out of a page, or all of them.
    case hidden, emptied
    case refusedBehindWindow = "window.refused"
    case emptyBehindWindow = "window.empty"
    /// A request beyond the end was answered with the last page, or from the start of the list.
    case lastPageAgain, startAgain
    case reordered
    /// An outdated replica answered, without the last change.
    case behind = "replica.behind"
    case twice
    /// An empty page was requested after the last item of a chain that does not mark its end.
    case tail
}

extension OriginAddress {
    /// Moves an address beyond the end to the page that the origin returns instead. Returns the effect that occurs.
    /// Returns nil for an address before the end, and for an ordinary origin.
    mutating func turn(back list: SimulatedList, _ plan: OriginPlan) -> OriginEffect? {
        guard list.count > 0, start >= list.count else { return nil }
        let isGrid = plan.style == .page || plan.style == .link
        let pages = (list.count + size - 1) / size
        switch plan.behaviour.beyond {
        case .asPlanned:
            return plan.behaviour.tail == .plain ? nil : .tail
        case .lastPage:
            start = isGrid ? (pages - 1) * size : max(list.count - size, 0)
            return .lastPageAgain
        case .start:
            start = isGrid ? start / size % pages * size : start % list.count
            return .startAgain
        }
    }
}

extension OriginPlan {
    /// Whether an answer has a next cursor although no item follows the items in `given`.
    func goesOn(behind given: Range<Int>) -> Bool {
        if behaviour.beyond != .asPlanned { return !given.isEmpty }
        return switch behaviour.tail {
        case .plain: false
        case .emptyPage: !given.isEmpty
        case .sameCursor: true
        }
    }
}
