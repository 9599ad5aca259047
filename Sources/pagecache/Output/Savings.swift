#if Tool
import PageModel
import PagedRepository

/// The comparison of one run with a client that fetches every page of the list each time. Pure.
struct Savings: Equatable {
    /// The number of requests sent, and the number that the other client would send.
    var requests: Int
    var withoutStore: Int
    /// The saved bytes, estimated from the stored items. `nil` where their size is not known.
    var bytes: Int?

    /// Returns nil for a run that saved no request, and for one that did not refresh the list or did not end as
    /// `complete`.
    init?(_ report: SyncReport, storedBytes: Int?) {
        guard let list = report.list, report.outcome == .complete, report.headFailure == nil,
            report.reconciliation != .none
        else { return nil }
        self.init(
            requests: report.usage.requests, pages: list.plainPages,
            bytes: storedBytes.map { max(0, $0 - report.usage.bytesReceived) })
    }

    init?(requests: Int, pages: Int, bytes: Int?) {
        guard requests > 0, pages > requests else { return nil }
        self.requests = requests
        withoutStore = pages
        self.bytes = bytes
    }

    /// `1 request instead of 101: 9.8 MB saved`. The saved time is not known, because the other client may send its
    /// requests concurrently.
    var text: String {
        let counts = "\(SizeText.count(requests, "request", "requests")) instead of \(SizeText.count(withoutStore))"
        return bytes.map { "\(counts): \(SizeText.bytes($0)) saved" } ?? counts
    }
}
#endif
