import PageModel
import PagedRepository
import PagedRepositoryTesting

/// Changes at the end of a life that plain runs have to find.
extension KindLife {
    /// Checks that one insert in the middle of many pages costs a search and an audit, as
    /// Documentation/Reconciliation.md says.
    func mend() async throws {
        guard plan.style == .offset, plan.totals == .exact else { return }
        origin.add(.change(.insert(at: .middle, count: 1)))
        let before = origin.usage.requests
        let report = try await sync()
        let (now, taken) = (try await observedState(), origin.usage.requests - before)
        let halvings = Int.bitWidth - (plan.count / plan.usualSize).leadingZeroBitCount
        if let difference = difference(now.held) {
            find("R18: the list differs after one insert: \(difference)", report, now)
        }
        if taken > 3 + 2 * halvings { find("G4: \(taken) requests for one insert", report, now) }
        if taken < 2 + halvings { find("R18: no audit: \(taken) requests for one insert", report, now) }
    }

    /// Checks that plain runs find inserts and deletions behind page one that no total shows. The items at the end of
    /// the list have moved then (R24). Cursors that name an item show no such change.
    func changeWithoutTotal() async throws {
        guard plan.style != .keyset, plan.behaviour.overlap == 0 else { return }
        for _ in 0..<6 where outcome.violations.isEmpty {
            let place = OriginPlace(fraction: UInt16(number(0...Int(UInt16.max))))
            let count = number(1...5)
            let isInsert = origin.length < 2 * plan.usualSize || number(0...1) == 0
            origin.add(.change(isInsert ? .insert(at: place, count: count) : .delete(at: place, count: count)))
            let report = try await sync()
            let now = try await observedState()
            if let difference = difference(now.held) {
                let change = isInsert ? "an insert" : "a deletion"
                find("R24: without a total, \(change) of \(count) at \(place) is not found: \(difference)", report, now)
            }
        }
    }
}
