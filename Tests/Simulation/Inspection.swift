import PageModel
import PagedRepository
import PagedRepositoryTesting

/// The conditions that hold for a cached list at any moment, whatever the origin did.
enum Inspection {
    /// Returns the violations: overlapping pages and items held twice (R5), seams wrongly marked as verified (G1), and
    /// items that the origin never sent. An empty result means no violation.
    static func findings(in storage: any PageStorage, _ query: QueryID, _ origin: SimulatedOrigin) async throws
        -> [String]
    {
        var wrong: [String] = []
        var keys: Set<UInt64> = []
        var before: (position: Int, key: UInt64)?
        guard let (list, window) = try await still(storage, query) else { return [] }
        let contents = Dictionary(
            window.parts.filter(\.isHeld).map { ($0.offset, $0.content) }, uniquingKeysWith: { first, _ in first })
        for page in list.heldPages where page.count > 0 {
            guard let content = contents[page.offset], content.count == page.count else {
                wrong.append("the page at \(page.offset) has another number of items than it says")
                continue
            }
            if let last = before, last.position >= page.offset { wrong.append("R5: pages overlap at \(page.offset)") }
            let seams = Set(page.innerInferredSeams.map(\.index))
            for (index, identity) in content.identities.enumerated() {
                let position = page.offset + index
                if !list.record.allowsDuplicates, !keys.insert(identity.key).inserted {
                    wrong.append("R5: the item at \(position) is held twice")
                }
                if !origin.wasGiven(content.items[index]) {
                    wrong.append("the origin never sent the item at \(position)")
                }
                let isVerified = index == 0 ? page.evidence == .verified : !seams.contains(index)
                if let last = before, last.position == position - 1, isVerified,
                    !origin.wasAdjacent(last.key, identity.key)
                {
                    wrong.append("G1: the seam before \(position) is marked as verified, and no answer showed it")
                }
                before = (position, identity.key)
            }
        }
        return wrong
    }

    /// Returns the outline and the items of one moment. Reads again when another commit came in between, up to 100
    /// times.
    private static func still(_ storage: any PageStorage, _ query: QueryID) async throws -> (ListOutline, ListWindow)? {
        for _ in 0..<100 {
            guard let before = try await storage.outline(of: query),
                let window = try await storage.window(of: query, 0..<ListTotal.largest),
                let after = try await storage.outline(of: query)
            else { return nil }
            if before == after { return (after, window) }
        }
        return nil
    }

    /// Returns every readable item, held or not.
    static func readable(_ storage: any PageStorage, _ query: QueryID) async throws -> [RawItem] {
        try await storage.window(of: query, 0..<ListTotal.largest)?.parts.flatMap { $0.content.items } ?? []
    }

    /// Returns the held items, in order.
    static func held(_ storage: any PageStorage, _ query: QueryID) async throws -> [RawItem] {
        try await storage.window(of: query, 0..<ListTotal.largest)?.parts.filter(\.isHeld).flatMap { $0.content.items }
            ?? []
    }

    /// Returns how a list differs from the list of an origin that has been quiet for long enough (G3).
    static func differences(
        _ storage: any PageStorage, _ key: QueryKey, _ origin: SimulatedOrigin, _ plan: OriginPlan,
        _ report: SyncReport?
    ) async throws -> [String] {
        guard let record = try await storage.query(key), !record.allowsDuplicates else { return [] }
        guard plan.identity != .repeating else { return [] }
        let held = try await held(storage, record.id).map(origin.canonical)
        let items = origin.canonicalItems
        guard held != items else { return [] }
        let missing = Set(items.compactMap(\.id)).subtracting(held.compactMap(\.id))
        let surplus = Set(held.compactMap(\.id)).subtracting(items.compactMap(\.id))
        return [
            "G3: after a sweep of a quiet origin: \(held.count) held of \(items.count); missing \(missing.sorted().prefix(6)), surplus \(surplus.sorted().prefix(6)); \(report?.outcome.rawValue ?? "") \(report?.reconciliation.rawValue ?? ""), total \(record.total), end \(String(describing: record.end)), sweep \(String(describing: record.sweep)), \(report?.warnings ?? []), \(String(describing: report?.headFailure))"
        ]
    }

    /// Returns how the end of a life differs from the `OriginExpectation` of a quiet origin.
    static func surprises(
        _ storage: any PageStorage, _ key: QueryKey, _ origin: SimulatedOrigin, _ report: SyncReport?
    ) async throws -> [String] {
        guard let report, let record = try await storage.query(key) else { return [] }
        let expectation = origin.plan.expectation(length: origin.length, size: origin.plan.usualSize)
        var wrong: [String] = []
        let state =
            "\(report.outcome.rawValue) \(report.reconciliation.rawValue), total \(record.total), end \(String(describing: record.end)), held \(report.state?.holdings?.held.count ?? 0), shown \(origin.items.count), \(report.warnings), \(String(describing: report.headFailure))"
        if !expectation.outcomes.contains(report.outcome.rawValue) {
            let right = expectation.outcomes.sorted().joined(separator: " or ")
            wrong.append("Outcome: \(report.outcome.rawValue) instead of \(right); \(state)")
        }
        if record.allowsDuplicates, !expectation.mayAllowDuplicates {
            wrong.append("R25: the list is marked as one with repeating ids, and its ids are unique; \(state)")
            let held = try await held(storage, record.id).map(origin.canonical)
            if held != origin.canonicalItems { wrong.append("G3: the list differs from the origin's; \(state)") }
        }
        return wrong
    }
}
