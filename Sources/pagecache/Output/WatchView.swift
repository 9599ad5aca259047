#if Tool
import PageModel

/// The screen of `watch`: one line for each query, and the latest events below. A pure value: size, colour and time are
/// arguments.
struct WatchView {
    /// The latest events, newest last.
    private(set) var log: [ListEventRendering] = []

    /// The largest number of kept events, more than fit on any screen.
    private static let memory = 200

    mutating func note(_ event: ListEventRendering) {
        log.append(event)
        if log.count > WatchView.memory { log.removeFirst(log.count - WatchView.memory) }
    }

    /// The lines of the screen: at most `rows`, each of at most `columns`. They are safe for a terminal (R46).
    ///
    /// - Parameter bold: formats a text as a heading.
    func lines(
        _ lists: [ListOutline], columns: Int, rows: Int, now: Timestamp, bold: (String) -> String = { $0 }
    ) -> [String] {
        let shown = lists.prefix(max(1, (rows - 4) / 2))
        let count = "\(SizeText.count(lists.count)) \(lists.count == 1 ? "query" : "queries")"
        var lines = [bold(cut("pagecache watch · \(count)", columns))]
        for list in shown { lines.append(cut(line(list, now), columns)) }
        if shown.count < lists.count { lines.append(cut("… and \(lists.count - shown.count) more", columns)) }
        if lists.isEmpty { lines.append(cut("nothing is in the store yet", columns)) }
        lines.append("")
        let room = rows - lines.count
        for entry in log.suffix(max(0, room)) {
            let time = String(TimeText.rfc3339(entry.at).dropFirst(11).prefix(8))
            lines.append(cut("\(time) \(lists.count == 1 ? "" : entry.key.shortID + " ")\(entry.sentence)", columns))
        }
        return Array(lines.prefix(rows))
    }

    private func line(_ list: ListOutline, _ now: Timestamp) -> String {
        let record = list.record
        let inFlight = list.ledger.count { $0.state == .inFlight }
        let failures = list.failures
        var parts = [record.key.shortID]
        let held = list.coverage.count
        if let share = list.coveredShare {
            parts.append("\(Int(share * 100)) % of \(SizeText.count(list.length))")
        } else {
            parts.append("\(SizeText.count(held)) items")
        }
        if inFlight > 0 { parts.append("\(inFlight) in flight") }
        if !failures.isEmpty {
            let next =
                failures.first?.nextAttemptAt.map { $0 > now ? ", next in \(TimeText.age($0 - now))" : ", due" } ?? ""
            parts.append("\(failures.count) failing\(next)")
        }
        parts.append(list.freshnessText(now: now))
        if record.isPinned { parts.append("pinned") }
        parts.append(record.key.text)
        return parts.joined(separator: " · ")
    }

    private func cut(_ text: String, _ columns: Int) -> String {
        TextWidth.cut(Printable.text(text), to: columns)
    }
}
#endif
