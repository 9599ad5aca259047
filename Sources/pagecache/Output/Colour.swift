#if Tool
import PageModel

/// The colours and their meanings, as codes of ECMA-48 ("select graphic rendition"). A state has the same colour in
/// every table, map and view.
enum Colour {
    static let bold = 1
    static let reverse = 7
    static let failing = 31
    static let fresh = 32
    static let stale = 33
    static let old = 35
    static let inferred = 36
    static let missing = 90

    static func of(_ freshness: Freshness?) -> Int? {
        switch freshness {
        case .fresh: fresh
        case .stale: stale
        case .expired: failing
        case nil: nil
        }
    }
}

extension LedgerEntry {
    /// The state of the fetch in one word for people. JSON has the names of `FetchState`.
    var stateText: String {
        switch state {
        case .pending: "queued"
        case .inFlight: "fetching"
        case .ok: "ok"
        case .failedRetryable: nextAttemptAt == nil ? "abandoned" : "retrying"
        case .failedPermanent: "failed"
        }
    }

    /// The time of the next attempt for people.
    func nextText(now: Timestamp) -> String {
        nextAttemptAt.map { $0 > now ? "in \(TimeText.until($0 - now))" : "due" } ?? TableLayout.nothing
    }
}
#endif
