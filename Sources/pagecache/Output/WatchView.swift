#if Tool
import PageModel

/// The screen of `watch`: each query with one or two lines and, where there is room, a map; then the failures of the
/// selected query, and the latest events. A pure value: size, colour and time are arguments.
struct WatchView {
    /// The part of the screen that keys change.
    enum Mode: Equatable {
        case lists
        /// The user types a filter.
        case finding
        /// The items of the selected query, one per line, from the line `top` on.
        case items(key: String, lines: [String], top: Int)
    }

    /// The latest events, newest last.
    private(set) var log: [ListEventRendering] = []
    /// The query that keys act on. `nil` means the first one.
    var selected: QueryID?
    /// Only queries whose id, scope or key contains this text are shown. The text "failing" also finds queries with
    /// failing pages.
    var filter = ""
    var mode = Mode.lists
    /// The message about the result of the last key. `nil` when there is no message.
    var message: String?
    /// Whether the user has named the query that is shown.
    var isNamed = false
    /// The size of the last drawn screen, for keys that move by a page.
    var screen = (columns: 80, rows: 24)
    /// Whether the keys are shown: when the terminal can send them.
    var takesKeys = false
    private var growthRates: [QueryID: GrowthRate] = [:]

    /// The largest number of kept events, more than fit on a usual screen.
    private static let memory = 200
    static let keys = "↑↓ select · r retry · p pin · s sweep · / find · ↵ items · q quit"
    static let itemKeys = "↑↓ scroll · any other key returns"
    /// The shorter texts for narrow screens, longest first.
    private static let fewerKeys = ["↑↓ · r retry · p pin · s sweep · q quit", "r retry · q quit"]
    private static let fewerItemKeys = ["any key returns"]
    /// The fewest columns for a query on one line. On a narrower screen, the key has a line of its own.
    static let wide = 48

    mutating func note(_ event: ListEventRendering) {
        log.append(event)
        if log.count > WatchView.memory { log.removeFirst(log.count - WatchView.memory) }
    }

    /// Records the size of a list, for its rate.
    mutating func measure(_ list: ListOutline, now: Timestamp) {
        growthRates[list.record.id, default: GrowthRate()].note(list.coverage.count, at: now)
    }

    // MARK: Drawing

    /// The lines of the screen: at most `rows`, each of at most `columns`. They are safe for a terminal (R46).
    ///
    /// - Parameter colour: formats a text in a colour (`Colour`).
    func lines(
        _ lists: [ListOutline], columns: Int, rows: Int, now: Timestamp, colour: (Int, String) -> String = { $1 }
    ) -> [String] {
        let isNarrow = columns < WatchView.wide
        let found = shown(lists)
        let current = current(lists)
        var footer: [String] = []
        if case .finding = mode {
            footer.append(cut("find: \(filter)▏", columns))
        } else if let message {
            footer += WatchView.fitted([message], columns: columns, rows: max(1, rows / 3))
        } else if takesKeys {
            footer.append(colour(Colour.missing, cut(keys(columns), columns)))
        }
        let title = colour(Colour.bold, cut(title(lists, found, columns), columns))
        if case .items(let key, let items, let top) = mode {
            var lines = [title, cut(key, columns)]
            lines += items.dropFirst(top).prefix(max(0, rows - 2 - footer.count)).map { cut($0, columns) }
            lines += Array(repeating: "", count: max(0, rows - footer.count - lines.count))
            return Array(lines.prefix(max(1, rows - footer.count)) + footer.prefix(max(0, rows - 1)))
        }
        // The lowest screens have no title, so that the selected query and the keys have room.
        var lines = rows - footer.count > WatchView.height(columns) ? [title] : []
        // A query has a line or two, and a map below them where there is room.
        let (most, maps) = WatchView.capacity(
            found.count, columns: columns, room: max(1, rows - 2 - footer.count))
        let first = min(
            max(0, (found.firstIndex { $0.record.id == current?.record.id } ?? 0) - most / 2),
            max(0, found.count - most))
        let window = Array(found.dropFirst(first).prefix(most))
        // The current query has the first map.
        let inOrder = window.filter { $0.record.id == current?.record.id } + window
        var mapped: Set<QueryID> = []
        for list in inOrder where mapped.count < maps { mapped.insert(list.record.id) }
        for list in window {
            let isCurrent = list.record.id == current?.record.id
            lines += self.lines(of: list, now, columns, isSelected: takesKeys && isCurrent, colour)
            if mapped.contains(list.record.id) { lines.append(map(list, now, columns, colour)) }
        }
        let others = [(first, "above"), (found.count - first - most, "below")].filter { $0.0 > 0 }
        if !others.isEmpty {
            let more = isNarrow ? "" : "more "
            let text = others.map { "\(SizeText.count($0.0)) \(more)\($0.1)" }.joined(separator: ", ")
            lines.append(cut("… \(text)", columns))
        }
        if lists.isEmpty {
            lines.append(cut(isNamed ? "the query was removed" : "the store has no query yet", columns))
        } else if found.isEmpty {
            lines.append(cut("no query matches '\(filter)'", columns))
        }
        // A small screen has no empty line here, because the events need the room. There, one event with an id can take
        // two lines.
        if !isNarrow || rows >= 12 { lines.append("") }
        let left = rows - lines.count - footer.count
        if takesKeys, let current, left > 1 {
            let most = max(1, left - (isNarrow && lists.count > 1 ? 2 : 1))
            lines += failureLines(of: current, columns: columns, rows: most).map { colour(Colour.failing, $0) }
        }
        // An event can be about a query that was removed.
        let isAboutOne = lists.count == 1 && log.allSatisfy { $0.key == lists[0].record.key }
        lines += eventLines(
            of: filter.isEmpty ? nil : Set(found.map(\.record.key)), columns: columns,
            rows: rows - lines.count - footer.count, hasIDs: !isAboutOne)
        lines = Array(lines.prefix(max(1, rows - footer.count)))
        // The keys are at the bottom of the screen.
        if !footer.isEmpty { lines += Array(repeating: "", count: max(0, rows - footer.count - lines.count)) }
        return lines + footer.prefix(max(0, rows - 1))
    }

    private func keys(_ columns: Int) -> String {
        let texts =
            if case .items = mode {
                [WatchView.itemKeys] + WatchView.fewerItemKeys
            } else {
                [WatchView.keys] + WatchView.fewerKeys
            }
        return texts.first { TextWidth.columns($0) <= columns } ?? texts[texts.count - 1]
    }

    private func title(_ lists: [ListOutline], _ found: [ListOutline], _ columns: Int) -> String {
        let count = SizeText.count(lists.count, "query", "queries")
        let failing = lists.reduce(0) { $0 + $1.failures.count }
        var parts = [
            Part(text: "pagecache watch", rank: 1),
            Part(text: found.count < lists.count ? "\(found.count) of \(count)" : count, rank: 2),
        ]
        if failing > 0 { parts.append(Part(text: SizeText.count(failing, "failing page", "failing pages"), rank: 0)) }
        return WatchView.fitting(parts, into: columns).map(\.text).joined(separator: WatchView.separator)
    }

    /// A part of a line.
    private struct Part {
        var text: String
        /// The order in which parts are left out: the largest rank first. A part with rank 0 stays.
        var rank: Int
        var colour: Int?
    }

    private static let separator = " · "

    /// The parts that fit side by side. Parts are left out by their rank. At least one part stays.
    private static func fitting(_ parts: [Part], into columns: Int) -> [Part] {
        var parts = parts
        func width() -> Int {
            parts.reduce(0) { $0 + TextWidth.columns(Printable.text($1.text)) + separator.count } - separator.count
        }
        while parts.count > 1, width() > columns, let rank = parts.map(\.rank).max(), rank > 0,
            let index = parts.lastIndex(where: { $0.rank == rank })
        {
            parts.remove(at: index)
        }
        return parts
    }

    /// The lines of a query. When a line is too long, the least important parts are left out. The failures and the key
    /// stay, and the id where the key is on the same line.
    private func lines(
        of list: ListOutline, _ now: Timestamp, _ columns: Int, isSelected: Bool, _ colour: (Int, String) -> String
    ) -> [String] {
        let key = Printable.text(list.record.key.text)
        let isNarrow = columns < WatchView.wide
        // The beginning and the end of a key stay, and its last path segment where that is short.
        let segment = min(TextWidth.columns(TextWidth.lastSegment(key)) + 1, WatchView.longestSegment)
        let least = min(TextWidth.columns(key), max(WatchView.shortestKey, segment))
        let room = isNarrow ? columns : columns - least - WatchView.separator.count
        var chosen = WatchView.fitting(parts(of: list, now, isNarrow: isNarrow), into: room)
        if !chosen.contains(where: { $0.rank == WatchView.freshnessRank }) {
            let brief = WatchView.fitting(parts(of: list, now, isNarrow: isNarrow, isBrief: true), into: room)
            if brief.count > chosen.count { chosen = brief }
        }
        let used = chosen.reduce(0) { $0 + TextWidth.columns(Printable.text($1.text)) + WatchView.separator.count }
        let end = Part(text: TextWidth.cutInside(key, to: max(1, isNarrow ? columns : columns - used)), rank: 0)
        if !isNarrow { chosen.append(end) }
        let rows = isNarrow ? [chosen, [end]] : [chosen]
        return rows.map { row in
            styled(row.map { ($0.text, $0.colour) }, columns, isSelected: isSelected, colour)
        }
    }

    /// The fewest columns of a key.
    private static let shortestKey = 16
    /// A last path segment of a key is kept whole if it has at most this number of columns, with the ellipsis before
    /// it.
    private static let longestSegment = 25

    /// The rank of the freshness in a query's line.
    private static let freshnessRank = 3

    /// The parts of a query's line before its key.
    /// - Parameter isBrief: whether the length of the list is left out. Defaults to false.
    private func parts(
        of list: ListOutline, _ now: Timestamp, isNarrow: Bool, isBrief: Bool = false
    ) -> [Part] {
        let record = list.record
        let inFlight = list.ledger.count { $0.state == .inFlight }
        let failures = list.failures
        var parts = [Part(text: record.key.shortID, rank: isNarrow ? 1 : 0)]
        let held = list.coverage.count
        if let share = list.coveredShare {
            let length = isBrief ? "" : " of \(SizeText.count(list.length))"
            parts.append(Part(text: "\(Int(share * 100)) %\(length)", rank: 2))
        } else {
            parts.append(Part(text: SizeText.count(held, "item", "items"), rank: 2))
        }
        if let rate = growthRates[record.id]?.rate(at: now, isFailing: !failures.isEmpty), rate >= 1 {
            parts.append(Part(text: "\(SizeText.count(Int(rate)))/s", rank: 6))
            let missing = list.length - held
            if list.coveredShare != nil, missing > 0 {
                let left = TimeText.until(.milliseconds(Int64(Double(missing) / rate * 1_000)))
                parts.append(Part(text: "\(left) left", rank: 5))
            }
        }
        if inFlight > 0 {
            parts.append(Part(text: "\(SizeText.count(inFlight, "page", "pages")) in flight", rank: 7))
        }
        if !failures.isEmpty {
            let failing = SizeText.count(failures.count, "failing page", "failing pages")
            parts.append(Part(text: failing, rank: 0, colour: Colour.failing))
            if let next = failures.first?.nextAttemptAt {
                parts.append(Part(text: next > now ? "next in \(TimeText.until(next - now))" : "due", rank: 4))
            }
        }
        parts.append(
            Part(
                text: list.freshnessText(now: now), rank: WatchView.freshnessRank,
                colour: Colour.of(list.freshness(FreshnessPolicy(), now: now))))
        if record.isPinned { parts.append(Part(text: "pinned", rank: 8)) }
        if !record.key.scope.isEmpty { parts.append(Part(text: record.key.scope, rank: 1)) }
        return parts
    }

    /// Joins parts up to the width of the screen, with the colour of each.
    private func styled(
        _ parts: [(text: String, colour: Int?)], _ columns: Int, isSelected: Bool, _ colour: (Int, String) -> String
    ) -> String {
        let whole = cut(parts.map(\.text).joined(separator: WatchView.separator), columns)
        // Reverse video would end at the first colour inside the line.
        guard !isSelected else { return colour(Colour.reverse, whole) }
        var line = ""
        var rest = whole[...]
        for (index, part) in parts.enumerated() {
            let text = (index > 0 ? WatchView.separator : "") + Printable.text(part.text)
            let piece = rest.prefix(text.count)
            rest = rest.dropFirst(text.count)
            line += part.colour.map { colour($0, String(piece)) } ?? String(piece)
        }
        return line + rest
    }

    private func map(
        _ list: ListOutline, _ now: Timestamp, _ columns: Int, _ colour: (Int, String) -> String
    ) -> String {
        let map = CoverageMap(of: list, now: now)
        guard map.length > 0 else { return "" }
        let indentation = columns > 30 ? "  " : ""
        return indentation + MapDrawing(map: map, width: columns).row(cells: max(1, columns - 4), colour: colour)
    }

    private func cut(_ text: String, _ columns: Int) -> String {
        TextWidth.cut(Printable.text(text), to: columns)
    }
}
#endif
