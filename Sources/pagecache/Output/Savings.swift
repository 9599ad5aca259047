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
    /// The saved time, estimated from the pace of this run.
    var time: Duration

    /// Returns nil for a run that saved no request, or that did not reach page one.
    init?(_ report: SyncReport, storedBytes: Int?) {
        guard let list = report.list, report.outcome == .complete, report.headFailure == nil,
            report.reconciliation != .none
        else { return nil }
        self.init(
            requests: report.usage.requests, pages: list.heldPages.count { $0.count > 0 },
            bytes: storedBytes.map { max(0, $0 - report.usage.bytesReceived) }, duration: report.duration)
    }

    init?(requests: Int, pages: Int, bytes: Int?, duration: Duration) {
        guard requests > 0, pages > requests else { return nil }
        self.requests = requests
        withoutStore = pages
        self.bytes = bytes
        time = duration / requests * (pages - requests)
    }

    /// `1 request instead of 101: 9.8 MB and about 41 s saved`
    var text: String {
        let saved =
            [bytes.map(SizeText.bytes), time >= .seconds(1) ? "about \(TimeText.age(time))" : nil].compactMap { $0 }
        let counts = "\(SizeText.count(requests, "request", "requests")) instead of \(SizeText.count(withoutStore))"
        return saved.isEmpty ? counts : "\(counts): \(saved.joined(separator: " and ")) saved"
    }
}
#endif
