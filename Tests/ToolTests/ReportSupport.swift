#if Tool
import PageModel

/// Handmade outlines for tests of code that needs only an outline.
enum Sample {
    static let now = Timestamp(milliseconds: 1_800_000_000_000)

    static func ago(_ age: Duration) -> Timestamp { now + (.zero - age) }

    static func page(
        _ range: Range<Int>, age: Duration = .seconds(5), evidence: Evidence = .verified, generation: Int = 1,
        seams: [InnerSeam] = []
    ) -> PageSummary {
        PageSummary(
            offset: range.lowerBound, count: range.count, generation: generation, revision: 0, evidence: evidence,
            evidenceAt: ago(age),
            innerInferredSeams: seams, fetchedAt: ago(age), validatedAt: ago(age), fingerprint: 0, cursorIn: nil,
            cursorOut: nil,
            validator: nil)
    }

    static func failing(
        _ offset: Int, next: Duration? = .seconds(30), isRetryable: Bool = true, attempts: Int = 2,
        _ message: String = "the origin answered 500", _ failureClass: FetchFailure.Class = .server
    ) -> LedgerEntry {
        LedgerEntry(
            offset: offset, state: isRetryable ? .failedRetryable : .failedPermanent, attempts: attempts,
            firstFailureAt: ago(.seconds(300)),
            lastAttemptAt: ago(.seconds(60)), nextAttemptAt: next.map { now + $0 },
            failure: FetchFailure(failureClass, message, isRetryable: isRetryable))
    }

    static func list(
        _ pages: [PageSummary], total: ListTotal = .unknown, end: Int? = nil, validated age: Duration? = .seconds(5),
        ledger: [LedgerEntry] = [], isPinned: Bool = false, sweep: SweepProgress? = nil, generation: Int = 1,
        key: QueryKey = "http://h/items"
    ) -> ListOutline {
        ListOutline(
            record: QueryRecord(
                id: QueryID(rawValue: 1), key: key, version: ListVersion(generation: generation, revision: 0),
                total: total, end: end,
                validatedAt: age.map(ago), createdAt: ago(.seconds(86_400)), allowsDuplicates: false, paging: "offset",
                source: "",
                sweep: sweep, isPinned: isPinned),
            pages: pages, ledger: ledger, readAt: now)
    }
}
#endif
