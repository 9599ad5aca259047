import PageModel

/// What is due for one list at one moment, as runs one behind the other: pure (R29, R33).
///
/// The agenda says from when on; this is for those who look once and do everything that is due, and not one job at a
/// time.
struct DuePlan {
    let agenda: Agenda

    /// Everything: what the ledger has scheduled, page one of a pinned list that is stale or was invalidated, what a
    /// pinned list lacks, a sweep that was cut off.
    func runs(for list: ListOutline, now: Timestamp) -> [SyncOptions.Work] {
        let record = list.record
        guard record.isPinned || record.sweep != nil else { return retries(of: list, now: now) }
        let state = Agenda.List(list)
        if let job = agenda.job(for: state, now: now), job.dueAt <= now {
            // A sweep, and everything, take up what the ledger has due on their way.
            return [job.work]
        }
        if let job = agenda.completion(of: state), job.dueAt <= now { return [job.work] }
        return retries(of: list, now: now)
    }

    /// What the ledger has scheduled by now, and nothing else.
    func retries(of list: ListOutline, now: Timestamp) -> [SyncOptions.Work] {
        let offsets = list.ledger.filter { entry in
            agenda.job(for: DueFetch(query: list.record.id, entry: entry), now: now).map { $0.dueAt <= now } ?? false
        }.map(\.offset)
        guard !offsets.isEmpty else { return [] }
        // Where page one never came, it is the whole list that is wanted.
        if offsets.contains(0), list.record.validatedAt == nil { return [.everything] }
        let behind = offsets.filter { $0 > 0 }
        return (offsets.contains(0) ? [.refresh] : []) + DuePlan.stretches(behind, of: list).map { .positions($0) }
    }

    /// The positions that the pages which failed at these offsets would hold. Pages that nothing else lies between are
    /// one run, so that they are fetched side by side.
    static func stretches(_ offsets: [Int], of list: ListOutline) -> [Range<Int>] {
        let wanted = Set(offsets)
        let places = wanted.union(list.heldPages.map(\.offset)).union(list.ledger.map(\.offset)).sorted()
        let size = max(1, list.heldPages.map(\.count).max() ?? 1)
        let listEnd = list.record.end ?? list.record.total.exactCount ?? .max
        var stretches: [Range<Int>] = []
        var isOpen = false
        for (index, place) in places.enumerated() {
            guard wanted.contains(place) else { isOpen = false; continue }
            let next = min(index + 1 < places.count ? places[index + 1] : .max, max(listEnd, place + 1))
            // Up to what is known next; where that is far, a page's worth, less what overlaps with the page before
            // (R21).
            let end = next - place <= size ? next : place + max(1, size - 1)
            if isOpen, let last = stretches.popLast() {
                stretches.append(last.lowerBound..<end)
            } else {
                stretches.append(place..<end)
            }
            isOpen = true
        }
        return stretches
    }
}
