import PageModel

extension SyncRun {
    /// Returns whether an origin without a total has returned its last page once more behind the end of its list (R24).
    ///
    /// The answer is the items just before the requested position, and page one has stayed as it was, so no insert has
    /// moved them there. An answer that is page one proves nothing: the origin may ignore the position.
    func isClamped(
        _ page: FetchedPage, _ places: [UInt64: ItemPlace], of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        let (end, count) = (range.lowerBound, page.content.count)
        guard page.hasMore != true, page.next == nil, page.total.exactCount == nil, count < end,
            page.content.identities.enumerated().allSatisfy({ places[$1.key]?.position == end - count + $0 }),
            let list = try await storage.excerpt(of: query, 0..<Int.max), list.coverage.headEnd == end,
            list.coverage.runs.count == 1, list.record.total.exactCount == nil, isStillThere(list)
        else { return false }
        guard isWitnessed(end, end: end) else {
            askWitness(for: .span(range, overlap: 0), end: end)
            return true
        }
        _ = try await apply(
            CommitPlan(
                query: query, version: list.record.version, edits: [.setEnd(end)],
                ledger: [.forgotten(offset: end, lease: leases[end])]))
        pass.rechecksEnd = false
        return true
    }
}
