import PageModel

// Items whose bytes are damaged or do not decode are fetched again (R7).
extension ListController {
    /// Returns the held items that do not decode, and that no load has fetched again. Each item is fetched again only
    /// once, because an origin may always send such bytes. Unstored pages are left out, because they are fetched again
    /// with page one.
    /// - Parameter before: the snapshot before the work. Items that the work has just fetched are left out.
    func openItems(since before: ListSnapshot<Value>) -> [UndecodableItem] {
        let open = Set(before.undecodableItems.map(\.identity)).subtracting(refetched)
        guard !open.isEmpty else { return [] }
        let end = unstored?.pages.start ?? .max
        return current.undecodableItems.filter { $0.position < end && open.contains($0.identity) }
    }

    /// Marks pages with damaged bytes as stale, so that they are fetched again. Each page is fetched again only once.
    /// - Parameter known: the damaged positions before the work.
    /// - Returns: the positions of the marked pages.
    func markDamaged(_ known: [Range<Int>]) async throws -> [Range<Int>] {
        let open = Set(known).subtracting(refetchedDamage)
        let end = unstored?.pages.start ?? .max
        let ranges = current.damaged.filter { open.contains($0) && $0.upperBound <= end }
        guard !ranges.isEmpty, let query, let list = try await context.storage.outline(of: query) else { return [] }
        refetchedDamage.formUnion(ranges)
        let plan = CommitPlan(query: query, version: list.record.version, edits: ranges.map { .markStale($0) })
        guard case .committed = try await context.storage.commit(plan) else { return [] }
        return ranges
    }

    /// Fetches unusable items again, after the origin has answered for page one. The bytes of items that do not decode
    /// are not damaged, so these items stay held meanwhile (R14). Positions between them that are missing are not
    /// fetched.
    /// - Parameters:
    ///   - before: the snapshot before the work.
    ///   - work: the report of the work, which has fetched page one.
    /// - Throws: `ListFailure` when a damaged page cannot be fetched. The list then ends before this page, until the
    ///   next page is loaded.
    func refetchUnusable(_ ticket: Int, _ before: ListSnapshot<Value>, _ work: SyncReport) async throws {
        guard machine.isRunning(ticket) else { return }
        let damaged = try await markDamaged(before.damaged)
        let open = openItems(since: before)
        refetched.formUnion(open.filter { $0.position < work.pageOneCount }.map(\.identity))
        // In a chain, no page after a hole can be requested.
        let end = source.access == .chain ? current.headEnd : Int.max
        let items = open.filter { $0.position >= work.pageOneCount && $0.position < end }
        for part in current.joined(damaged + items.ranges) {
            let again = items.filter { part.contains($0.position) }
            var options = context.options.sync
            (options.work, options.again) = (.positions(part), again.ranges)
            let report = try await ListSync(
                storage: context.storage, source: source, key: key, options: options, clock: context.clock,
                jitter: context.jitter, logger: context.logger
            ).run()
            try await updateSnapshot()
            // A cancelled load must not report failures of earlier runs.
            try Task.checkCancellation()
            guard let failure = report.headFailure ?? report.failures.first?.failure else {
                refetched.formUnion(again.map(\.identity))
                continue
            }
            // The next refresh requests the items again.
            if report.outcome != .complete, damaged.contains(where: { $0.overlaps(part) }) {
                throw ListFailure(
                    .next, failure, nextAttemptAt: own(report.nextAttemptAt, report), cause: source.cause)
            }
        }
    }
}

extension ListSnapshot {
    /// Joins ranges of held positions without a gap between them, in order.
    fileprivate func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = parts.last,
                !gaps.contains(where: { $0.lowerBound >= last.upperBound && $0.lowerBound < range.lowerBound })
            {
                parts[parts.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                parts.append(range)
            }
        }
        return parts
    }
}
