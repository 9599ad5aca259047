#if Tool
import PageModel

/// The screen of `watch`: two lines for each query, the details of the selected one, and the latest events. A pure
/// value: size, colour and time are arguments.
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
    /// Only queries whose key contains this text are shown.
    var filter = ""
    var mode = Mode.lists
    /// The result of the last key. `nil` when there is none.
    var message: String?
    /// Whether the keys are shown: when the terminal can send them.
    var takesKeys = false
    private var paces: [QueryID: Pace] = [:]

    /// The largest number of kept events, more than fit on any screen.
    private static let memory = 200
    static let keys = "↑↓ select · r retry · p pin · s sweep · / find · ↵ items · q quit"
    static let itemKeys = "↑↓ scroll · any other key returns"

    mutating func note(_ event: ListEventRendering) {
        log.append(event)
        if log.count > WatchView.memory { log.removeFirst(log.count - WatchView.memory) }
    }

    /// Records the size of a list, for its rate.
    mutating func measure(_ list: ListOutline, now: Timestamp) {
        paces[list.record.id, default: Pace()].note(list.coverage.count, at: now)
    }

    /// The queries that the filter leaves.
    func shown(_ lists: [ListOutline]) -> [ListOutline] {
        let wanted = filter.lowercased()
        guard !wanted.isEmpty else { return lists }
        return lists.filter { "\($0.record.key.shortID) \($0.record.key.text)".lowercased().contains(wanted) }
    }

    /// The query that keys act on.
    func current(_ lists: [ListOutline]) -> ListOutline? {
        let shown = shown(lists)
        return shown.first { $0.record.id == selected } ?? shown.first
    }

    /// Selects the query that is so many places after the current one.
    mutating func select(by step: Int, _ lists: [ListOutline]) {
        let shown = shown(lists)
        guard let now = shown.firstIndex(where: { $0.record.id == current(lists)?.record.id }) else { return }
        selected = shown[min(max(0, now + step), shown.count - 1)].record.id
    }

    // MARK: Drawing

    /// The lines of the screen: at most `rows`, each of at most `columns`. They are safe for a terminal (R46).
    ///
    /// - Parameter colour: formats a text in a colour (`Colour`).
    func lines(
        _ lists: [ListOutline], columns: Int, rows: Int, now: Timestamp, colour: (Int, String) -> String = { $1 }
    ) -> [String] {
        let found = shown(lists)
        let current = current(lists)
        var footer: [String] = []
        if case .finding = mode {
            footer.append(cut("find: \(filter)▏", columns))
        } else if let message {
            footer.append(cut(message, columns))
        } else if takesKeys {
            let keys = if case .items = mode { WatchView.itemKeys } else { WatchView.keys }
            footer.append(colour(Colour.missing, cut(keys, columns)))
        }
        var lines = [colour(Colour.bold, cut(title(lists, found), columns))]
        if case .items(let key, let items, let top) = mode {
            lines.append(cut(key, columns))
            lines += items.dropFirst(top).prefix(max(0, rows - 2 - footer.count)).map { cut($0, columns) }
            lines += Array(repeating: "", count: max(0, rows - footer.count - lines.count))
            return Array(lines.prefix(max(1, rows - footer.count)) + footer.prefix(max(0, rows - 1)))
        }
        // A map below each line needs twice the room. Six lines are left for events.
        let room = max(1, rows - 2 - footer.count)
        let hasMaps = found.count * 2 + 6 <= room
        let most = max(1, (room - min(6, room / 2)) / (hasMaps ? 2 : 1))
        let first = min(
            max(0, (found.firstIndex { $0.record.id == current?.record.id } ?? 0) - most / 2),
            max(0, found.count - most))
        for list in found.dropFirst(first).prefix(most) {
            lines.append(
                line(list, now, columns, isSelected: takesKeys && list.record.id == current?.record.id, colour))
            if hasMaps { lines.append(map(list, now, columns, colour)) }
        }
        if most < found.count { lines.append(cut("… and \(found.count - most) more", columns)) }
        if lists.isEmpty {
            lines.append(cut("the store has no query yet", columns))
        } else if found.isEmpty {
            lines.append(cut("no query matches '\(filter)'", columns))
        }
        lines.append("")
        let left = rows - lines.count - footer.count
        if takesKeys, let failure = current?.failures.first, left > 1 {
            lines.append(colour(Colour.failing, cut(sentence(failure, current), columns)))
        }
        for entry in log.suffix(max(0, rows - lines.count - footer.count)) {
            let time = String(TimeText.rfc3339(entry.at).dropFirst(11).prefix(8))
            lines.append(cut("\(time) \(lists.count == 1 ? "" : entry.key.shortID + " ")\(entry.sentence)", columns))
        }
        lines = Array(lines.prefix(max(1, rows - footer.count)))
        // The keys are at the bottom of the screen.
        if !footer.isEmpty { lines += Array(repeating: "", count: max(0, rows - footer.count - lines.count)) }
        return lines + footer.prefix(max(0, rows - 1))
    }

    private func title(_ lists: [ListOutline], _ found: [ListOutline]) -> String {
        let count = SizeText.count(lists.count, "query", "queries")
        let failing = lists.reduce(0) { $0 + $1.failures.count }
        let parts = [
            "pagecache watch", found.count < lists.count ? "\(found.count) of \(count)" : count,
            failing > 0 ? "\(SizeText.count(failing)) failing" : nil,
        ]
        return parts.compactMap { $0 }.joined(separator: " · ")
    }

    private func sentence(_ failure: LedgerEntry, _ list: ListOutline?) -> String {
        "\(list?.record.key.shortID ?? "") at \(SizeText.count(failure.offset)): \(failure.failure?.message ?? "failed")"
    }

    /// A part of a line.
    private struct Part {
        var text: String
        /// The order in which parts are left out: the largest rank first. A part with rank 0 stays.
        var rank: Int
        var colour: Int?
    }

    /// The fewest columns of a key, whose beginning and end then stay.
    private static let shortestKey = 16

    /// The line of a query. When it is too long, the least important parts are left out. The id, the failures and the
    /// key stay.
    private func line(
        _ list: ListOutline, _ now: Timestamp, _ columns: Int, isSelected: Bool, _ colour: (Int, String) -> String
    ) -> String {
        let record = list.record
        let inFlight = list.ledger.count { $0.state == .inFlight }
        let failures = list.failures
        var parts = [Part(text: record.key.shortID, rank: 0)]
        let held = list.coverage.count
        if let share = list.coveredShare {
            parts.append(Part(text: "\(Int(share * 100)) % of \(SizeText.count(list.length))", rank: 2))
        } else {
            parts.append(Part(text: SizeText.count(held, "item", "items"), rank: 2))
        }
        if let rate = paces[record.id]?.rate(at: now), rate >= 1 {
            parts.append(Part(text: "\(SizeText.count(Int(rate)))/s", rank: 6))
            let missing = list.length - held
            if list.coveredShare != nil, missing > 0 {
                let left = TimeText.age(.milliseconds(Int64(Double(missing) / rate * 1_000)))
                parts.append(Part(text: "\(left) left", rank: 5))
            }
        }
        if inFlight > 0 { parts.append(Part(text: "\(inFlight) in flight", rank: 7)) }
        if !failures.isEmpty {
            parts.append(Part(text: "\(failures.count) failing", rank: 0, colour: Colour.failing))
            if let next = failures.first?.nextAttemptAt {
                parts.append(Part(text: next > now ? "next in \(TimeText.age(next - now))" : "due", rank: 4))
            }
        }
        parts.append(
            Part(
                text: list.freshnessText(now: now), rank: 3,
                colour: Colour.of(list.freshness(FreshnessPolicy(), now: now))))
        if record.isPinned { parts.append(Part(text: "pinned", rank: 8)) }
        if !record.key.scope.isEmpty { parts.append(Part(text: record.key.scope, rank: 1)) }
        let key = Printable.text(record.key.text)
        let room = min(TextWidth.columns(key), WatchView.shortestKey)
        func width() -> Int { parts.reduce(0) { $0 + TextWidth.columns(Printable.text($1.text)) + 3 } }
        while width() + room > columns, let rank = parts.map(\.rank).max(), rank > 0,
            let index = parts.lastIndex(where: { $0.rank == rank })
        {
            parts.remove(at: index)
        }
        parts.append(Part(text: TextWidth.cutInside(key, to: max(1, columns - width())), rank: 0))
        return styled(parts.map { ($0.text, $0.colour) }, columns, isSelected: isSelected, colour)
    }

    /// Joins parts up to the width of the screen, with the colour of each.
    private func styled(
        _ parts: [(text: String, colour: Int?)], _ columns: Int, isSelected: Bool, _ colour: (Int, String) -> String
    ) -> String {
        let whole = cut(parts.map(\.text).joined(separator: " · "), columns)
        // Reverse video would end at the first colour inside the line.
        guard !isSelected else { return colour(Colour.reverse, whole) }
        var line = ""
        var rest = whole[...]
        for (index, part) in parts.enumerated() {
            let text = (index > 0 ? " · " : "") + Printable.text(part.text)
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

/// The growth of a list over the last seconds. Pure.
private struct Pace {
    private static let memory = Duration.seconds(10)
    private var samples: [(at: Timestamp, held: Int)] = []

    mutating func note(_ held: Int, at now: Timestamp) {
        samples.append((now, held))
        while samples.count > 2, now - samples[1].at > Pace.memory { samples.removeFirst() }
    }

    /// Items a second. `nil` when the list did not grow within the last seconds.
    func rate(at now: Timestamp) -> Double? {
        guard let first = samples.first, let last = samples.last, last.held > first.held,
            now - last.at < Pace.memory
        else { return nil }
        let seconds = Double((last.at - first.at).wholeMilliseconds) / 1_000
        return seconds < 0.1 ? nil : Double(last.held - first.held) / seconds
    }
}
#endif
