import PageModel

/// Plans all runs that are due for one list at one moment, in order (R29, R33). Pure logic, without I/O.
///
/// The scheduler computes due times, one job at a time. This plan is for callers that do all due work at once.
struct DueRuns {
    let scheduler: SyncScheduler

    /// Returns all due runs. They cover scheduled retries, page one of a stale or invalidated pinned list, missing
    /// pages of a pinned list, and an interrupted sweep.
    func runs(for list: ListOutline, now: Timestamp) -> [SyncOptions.Work] {
        let record = list.record
        let state = SyncScheduler.List(list)
        guard record.isPinned || scheduler.continuesSweep(state, now: now) else { return retries(of: list, now: now) }
        if let job = scheduler.job(for: state, now: now), job.dueAt <= now {
            // A sweep and `everything` also fetch the pages whose retry is due.
            return [job.work]
        }
        if let job = scheduler.completion(of: state), job.dueAt <= now { return [job.work] }
        return retries(of: list, now: now)
    }

    /// Returns the due retries of the ledger, and no other work.
    func retries(of list: ListOutline, now: Timestamp) -> [SyncOptions.Work] {
        let offsets = list.ledger.filter { entry in
            scheduler.job(for: DueFetch(query: list.record.id, entry: entry), now: now).map { $0.dueAt <= now } ?? false
        }.map(\.offset)
        guard !offsets.isEmpty else { return [] }
        // If page one never arrived, the whole list is wanted.
        if offsets.contains(0), list.record.validatedAt == nil { return [.everything] }
        let behind = offsets.filter { $0 > 0 }
        return (offsets.contains(0) ? [.refresh] : []) + DueRuns.stretches(behind, of: list).map { .positions($0) }
    }

    /// Returns the positions of the pages that failed at these offsets. Failed pages with no other known page between
    /// them become one range, so that they are fetched concurrently.
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
            // The range ends at the next known page. If that is far away, it spans one page, less the overlap with the
            // page before (R21).
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
