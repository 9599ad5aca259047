/// The leases that a session has granted and that have not ended. A heartbeat finds their ledger rows by offset,
/// without a search for the owner (Decision 0009).
///
/// The rows of the store decide which leases are held. An outdated entry here renews no lease.
package struct HeldLeases {
    private struct Place {
        var query: QueryID
        var offset: Int
        var owner: LeaseOwner
        var end: Uptime
    }

    private var places: [LeaseToken: Place] = [:]
    /// The number of entries at which `add` first removes the expired entries. An owner can leave a lease without
    /// ending or renewing it.
    private static let many = 1_024

    package init() {}

    package var tokens: Set<LeaseToken> { Set(places.keys) }

    package mutating func add(
        _ lease: Lease, of query: QueryID, by owner: LeaseOwner, for duration: Duration, at moment: StorageMoment
    ) {
        if places.count >= HeldLeases.many { places = places.filter { !moment.isOver($0.value.end) } }
        places[lease.token] = Place(query: query, offset: lease.offset, owner: owner, end: moment.uptime + duration)
    }

    package mutating func end(_ token: LeaseToken) { places[token] = nil }

    /// Returns the leases of an owner, the oldest first.
    package func leases(of owner: LeaseOwner) -> [(query: QueryID, lease: Lease)] {
        places.filter { $0.value.owner == owner }.sorted { $0.key < $1.key }.map {
            ($0.value.query, Lease(offset: $0.value.offset, token: $0.key))
        }
    }

    package mutating func renewed(_ token: LeaseToken, at offset: Int, until end: Uptime) {
        places[token]?.offset = offset
        places[token]?.end = end
    }
}
