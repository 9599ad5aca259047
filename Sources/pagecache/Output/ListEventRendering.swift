#if Tool
import PageModel

/// One event of `watch` in every format.
struct ListEventRendering {
    let event: ListEvent
    let key: QueryKey
    let at: Timestamp

    /// The members of the JSON object in the documented order. Members that do not apply to this event are null.
    var json: JSONOutput { .object(members) }
    var csv: String { members.map { CSV.field($0.1) }.joined(separator: ",") }
    static let csvNames = [
        "at", "event", "query", "key", "offset", "count", "held", "total", "total_kind", "generation", "revision",
        "attempts",
        "error_class", "http_status", "error_message", "next_attempt_at",
    ]

    private var members: [(String, JSONOutput)] {
        let entry = entry
        let values: [JSONOutput] = [
            .time(at), .string(name), .string(key.shortID), .string(key.text), .optional(range?.lowerBound),
            .optional(range?.count), .int(event.held), .optional(total?.count), .optional(total?.kindName),
            .int(event.version.generation),
            .int(event.version.revision), .optional(entry?.attempts), .optional(entry?.failure?.failureClass.rawValue),
            .optional(entry?.failure?.httpStatus), .optional(entry?.failure?.shownMessage), .time(entry?.nextAttemptAt),
        ]
        return Array(zip(ListEventRendering.csvNames, values))
    }

    var name: String {
        switch event.kind {
        case .registered: "registered"
        case .stored: "stored"
        case .confirmed: "confirmed"
        case .dropped: "dropped"
        case .moved: "moved"
        case .replaced: "replaced"
        case .total: "total"
        case .ended: "ended"
        case .failed: "failed"
        case .retried: "retried"
        case .recovered: "recovered"
        case .purged: "purged"
        }
    }

    /// One line for people.
    var sentence: String {
        let held = SizeText.count(event.held) + (event.length.map { " of \(SizeText.count($0))" } ?? "") + " items"
        return switch event.kind {
        case .registered: "new: \(key.text)"
        case .stored(let range): "stored \(place(range)) · \(held)"
        case .confirmed(let range): "validated \(place(range))"
        case .dropped(let range): "dropped \(place(range)) · \(held)"
        case .moved: "items were inserted, removed or moved · \(held)"
        case .replaced: "a new generation of the list began · \(held)"
        case .total(let total):
            total.count.map { "the origin counts \(SizeText.count($0))" } ?? "the origin no longer states a total"
        case .ended(let end): "ends at \(SizeText.count(end))"
        case .failed(let entry):
            "failed at \(SizeText.count(entry.offset)), attempt \(entry.attempts): \(reason(entry))"
        case .retried(let entry): "retry started at \(SizeText.count(entry.offset)), attempt \(entry.attempts)"
        case .recovered(let offset): "recovered at \(SizeText.count(offset))"
        case .purged: "purged"
        }
    }

    /// A shorter sentence, for a screen without room for the full one. A failure begins with its position.
    var shortSentence: String {
        switch event.kind {
        case .failed(let entry):
            "\(SizeText.count(entry.offset)) failed: \(entry.failure?.shortMessage ?? "no answer")"
        case .retried(let entry): "\(SizeText.count(entry.offset)) retried"
        case .stored(let range): "stored \(place(range))"
        case .dropped(let range): "dropped \(place(range))"
        case .moved: "items changed"
        case .replaced: "new generation"
        case .registered, .confirmed, .total, .ended, .recovered, .purged: sentence
        }
    }

    private func place(_ range: Range<Int>) -> String {
        "\(SizeText.count(range.lowerBound))–\(SizeText.count(max(range.lowerBound, range.upperBound - 1)))"
    }

    private func reason(_ entry: LedgerEntry) -> String {
        let message = entry.failure?.shownMessage ?? "no answer"
        guard let next = entry.nextAttemptAt else { return "\(message); no retry scheduled" }
        return "\(message); next attempt \(next > at ? "in \(TimeText.until(next - at))" : "is due")"
    }

    private var range: Range<Int>? {
        switch event.kind {
        case .stored(let range), .confirmed(let range), .dropped(let range): range
        case .failed(let entry), .retried(let entry): entry.offset..<entry.offset
        case .recovered(let offset), .ended(let offset): offset..<offset
        case .registered, .moved, .replaced, .total, .purged: nil
        }
    }

    private var total: ListTotal? { if case .total(let total) = event.kind { total } else { nil } }

    private var entry: LedgerEntry? {
        switch event.kind {
        case .failed(let entry), .retried(let entry): entry
        case .registered, .stored, .confirmed, .dropped, .moved, .replaced, .total, .ended, .recovered, .purged: nil
        }
    }
}
#endif
