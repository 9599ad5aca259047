import PagedRepository

enum OfflineFirst {
    static func policies(_ list: PagedList<Item>) async throws {
        // snippet: policies
        try await list.load()  // cacheThenRefresh: what is cached at once, then page one
        try await list.load(.refreshIfStale)  // asks nobody, as long as what is cached is fresh
        try await list.load(.originFirst)  // page one first; what is cached, when it cannot be had
        try await list.load(.cacheOnly)  // never asks
        // end
    }

    static func axes(_ snapshot: ListSnapshot<Item>, _ say: (String) -> Void) {
        // snippet: axes
        show(snapshot.items)
        if let failure = snapshot.failure { say("could not be brought up to date: \(failure.failure.message)") }
        if snapshot.freshness == .expired { say("last confirmed at \(snapshot.validatedAt?.milliseconds ?? 0)") }
        for gap in snapshot.gaps { say("\(gap.count) items from \(gap.lowerBound) on are not here") }
        // end
    }
}
