import PageModel

/// Reads the items of a stretch of a list, inside the caller's transaction (R2).
enum WindowReading {
    static func window(
        of record: QueryRecord, _ range: Range<Int>, in connection: Connection
    ) throws(StorageError) -> ListWindow {
        var window = ListWindow(version: record.version, range: range, parts: [], damaged: [])
        guard !range.isEmpty else { return window }
        for row in try PageTable.rows(meeting: range, of: record.id, in: connection) where row.summary.count > 0 {
            let page = row.summary
            let wanted = page.range.clamped(to: range)
            guard let content = try PageTable.content(of: row, query: record.id, in: connection) else {
                // Other bytes than were stored are a miss, never an answer.
                window.damaged.append(wanted)
                continue
            }
            let part = wanted.lowerBound - page.offset..<wanted.upperBound - page.offset
            window.parts.append(
                ListWindow.Part(
                    offset: wanted.lowerBound, content: content.slice(part),
                    isHeld: page.generation == record.version.generation, validatedAt: page.validatedAt))
        }
        return window
    }
}
