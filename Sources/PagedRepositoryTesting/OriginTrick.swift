import PageModel
import PagedRepository

/// What the habits of a simulated origin really did, in one word each.
enum OriginTrick: String, CaseIterable, Sendable {
    /// Items were left out of a page, and all items of a page.
    case hidden, emptied
    case refusedBehindWindow = "window.refused"
    case emptyBehindWindow = "window.empty"
    /// A place beyond the end was answered by the last page, or from the start of the list.
    case lastPageAgain, startAgain
    case reordered
    /// A replica answered that had not seen the last change.
    case behind = "replica.behind"
    case twice
    /// An empty page was asked for behind the last item of a chain that does not say where it ends.
    case tail
}

extension OriginAddress {
    /// Goes to the page that an origin gives in place of one beyond the end; nil when it gives none.
    mutating func turn(back list: SimulatedList, _ plan: OriginPlan) -> OriginTrick? {
        guard list.count > 0, start >= list.count else { return nil }
        let isGrid = plan.style == .page || plan.style == .link
        let pages = (list.count + size - 1) / size
        switch plan.habits.beyond {
        case .asPlanned:
            return plan.habits.tail == .plain ? nil : .tail
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
    /// Whether the habits hand over a next although nothing follows the items in `given`.
    func goesOn(behind given: Range<Int>) -> Bool {
        if habits.beyond != .asPlanned { return !given.isEmpty }
        return switch habits.tail {
        case .plain: false
        case .emptyPage: !given.isEmpty
        case .sameCursor: true
        }
    }
}
