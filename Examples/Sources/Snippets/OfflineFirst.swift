import PagedRepository

enum OfflineFirst {
    static func policies(_ list: PagedList<Item>) async throws {
        // snippet: policies
        try await list.load()  // cacheThenRefresh: the cached items at once, then page one
        try await list.load(.refreshIfStale)  // no request while the cached items are fresh
        try await list.load(.originFirst)  // page one first; the cached items when that fails
        try await list.load(.cacheOnly)  // never a request
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
