#if Tool
import PageModel

// The order, the filter and the selection of the queries.
extension WatchView {
    /// The queries that the filter leaves, those with failing pages first.
    func shown(_ lists: [ListOutline]) -> [ListOutline] {
        let wanted = filter.lowercased()
        let found = wanted.isEmpty ? lists : lists.filter { $0.searchText.lowercased().contains(wanted) }
        return found.filter(\.isFailing) + found.filter { !$0.isFailing }
    }

    /// The query that keys act on. `nil` when the filter leaves no query.
    func current(_ lists: [ListOutline]) -> ListOutline? {
        let shown = shown(lists)
        return shown.first { $0.record.id == selected } ?? shown.first
    }

    /// Selects the query `step` places after the current one, or before it for a negative step. Stops at both ends.
    mutating func select(by step: Int, _ lists: [ListOutline]) {
        let shown = shown(lists)
        guard !shown.isEmpty else { return }
        let now = shown.firstIndex { $0.record.id == selected } ?? 0
        selected = shown[min(max(0, now + step), shown.count - 1)].record.id
    }

    /// The number of queries that fit on the last drawn screen.
    func pageLength(_ lists: [ListOutline]) -> Int {
        WatchView.capacity(shown(lists).count, columns: screen.columns, room: screen.rows - 3).lists
    }

    /// The number of lines of a query, without its map.
    static func height(_ columns: Int) -> Int { columns < wide ? 2 : 1 }

    /// The number of queries that fit on a screen, and the number of those that have a map below their lines. Up to six
    /// lines are left for events. If not every query fits with a map, further queries take precedence over all maps but
    /// one.
    /// - Parameters:
    ///   - count: the number of queries that the filter leaves.
    ///   - room: the lines of the screen, without the title, the line before the events and the keys.
    static func capacity(_ count: Int, columns: Int, room: Int) -> (lists: Int, maps: Int) {
        let height = height(columns)
        let left = room - min(6, room / 2)
        if count * (height + 1) + 6 <= room { return (max(1, left / (height + 1)), count) }
        guard room >= 8 else { return (max(1, left / height), 0) }
        let lists = max(1, (left - 1) / height)
        return (lists, max(1, left - min(count, lists) * height))
    }
}

extension ListOutline {
    fileprivate var isFailing: Bool { ledger.contains(where: \.state.isFailure) }

    /// The text that the filter searches. The word "failing" finds queries with failing pages.
    fileprivate var searchText: String {
        let key = record.key
        return "\(key.shortID) \(key.scope) \(key.text)\(isFailing ? " failing" : "")"
    }
}
#endif
