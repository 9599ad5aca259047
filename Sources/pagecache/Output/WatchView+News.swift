#if Tool
import PageModel

// The lines with news: the result of the last key, the failing pages of the selected query, and the latest events.
extension WatchView {
    /// Returns the lines of the first text that fits into `rows` lines, broken between words. If no text fits, returns the
    /// last one, cut with an ellipsis. Returns no line if there is no text.
    /// - Parameter texts: texts with the same content, the longest first.
    static func fitted(_ texts: [String], columns: Int, rows: Int) -> [String] {
        guard let shortest = texts.last, rows > 0 else { return [] }
        let all = texts.map { TableLayout.wrapped(Printable.text($0), width: columns) }
        if let lines = all.first(where: { $0.count <= rows }) { return lines }
        // A single line shows more of the text if it is cut inside a word.
        guard rows > 1, let lines = all.last else { return [TextWidth.cut(Printable.text(shortest), to: columns)] }
        return Array(lines.prefix(rows - 1)) + [TextWidth.cut("\(lines[rows - 1])…", to: columns)]
    }

    /// Returns the lines about the failing pages of a query, or no line if no page fails. The longest text names the
    /// first position, as `sync` and `why` do.
    func failureLines(of list: ListOutline, columns: Int, rows: Int) -> [String] {
        let failures = list.failures
        guard let first = failures.min(by: { $0.offset < $1.offset }) else { return [] }
        let count = SizeText.count(failures.count, "page fails", "pages fail")
        let reason = first.failure?.shownMessage ?? "failed"
        // A text without a position marks the reason as that of the first page, unless all pages share it.
        let isSame = failures.allSatisfy { $0.failure?.shownMessage == first.failure?.shownMessage }
        let who = isSame ? count : "\(count), first"
        let texts = [
            "\(list.record.key.shortID)\(failures.count > 1 ? ": \(count), the first" : "") at "
                + "\(SizeText.count(first.offset)): \(reason)",
            "\(who): \(reason)",
            "\(who): \(first.failure?.shortMessage ?? reason)",
        ]
        return WatchView.fitted(texts, columns: columns, rows: rows)
    }

    /// Returns the latest events that fit, in order. The newest event is shortened if it alone does not fit.
    /// - Parameter keys: the queries whose events are shown. `nil` means all of them.
    func eventLines(of keys: Set<QueryKey>?, columns: Int, rows: Int, hasIDs: Bool) -> [String] {
        guard rows > 0 else { return [] }
        var shown: [String] = []
        for entry in log.reversed() where keys?.contains(entry.key) ?? true {
            let time = TimeText.rfc3339(entry.at).dropFirst(11).prefix(8)
            let id = hasIDs ? entry.key.shortID + " " : ""
            let text = "\(time) \(id)\(entry.sentence)"
            let shorter = ["\(time) \(id)", id, ""].map { $0 + entry.shortSentence }
            let lines =
                shown.isEmpty
                ? WatchView.fitted([text] + shorter, columns: columns, rows: rows)
                : TableLayout.wrapped(Printable.text(text), width: columns)
            guard shown.count + lines.count <= rows else { break }
            shown = lines + shown
        }
        return shown
    }
}
#endif
