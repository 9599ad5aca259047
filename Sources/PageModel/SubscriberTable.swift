/// The observers of each query, and counters of the queries' changes: a plain value.
///
/// Changes are counted with and without observers. All queries of a column share one counter. A change to one query
/// therefore occasionally counts for another, whose reader then reads again without need.
struct SubscriberTable {
    /// Observers by number. The key `nil` holds the observers of all queries. An observer that was added twice is in
    /// the array twice.
    private var observers: [QueryID?: [Int]] = [:]
    /// A counter for each column. It grows with each change and never returns to an earlier value.
    private var counts = [UInt64](repeating: 0, count: ChangeBroadcaster.columns)

    /// The queries that have an observer of their own.
    var queries: [QueryID] { observers.keys.compactMap { $0 } }

    /// Whether an observer of all queries exists.
    var observesAll: Bool { observers[nil] != nil }

    func changeCount(of query: QueryID) -> UInt64 { counts[ChangeBroadcaster.column(of: query)] }

    mutating func add(_ number: Int, to query: QueryID?) { observers[query, default: []].append(number) }

    /// Reverts one `add`.
    mutating func remove(_ number: Int, from query: QueryID?) {
        guard let index = observers[query]?.firstIndex(of: number) else { return }
        observers[query]?.remove(at: index)
        if observers[query]?.isEmpty ?? false { observers[query] = nil }
    }

    /// Reverts every `add` of this observer. The cost grows with the number of observed queries.
    mutating func remove(_ number: Int) {
        for query in Array(observers.keys) where observers[query]?.contains(number) ?? false {
            observers[query]?.removeAll { $0 == number }
            if observers[query]?.isEmpty ?? false { observers[query] = nil }
        }
    }

    /// Counts a possible change to every query of these columns.
    mutating func changed(columns: Set<Int>) {
        for column in columns { counts[column] += 1 }
    }

    /// Counts a change to `query`. Returns the observers to notify, each once.
    /// - Parameter exactly: whether the observers of all queries are left out.
    mutating func changed(_ query: QueryID?, exactly: Bool) -> [Int] {
        if let query { counts[ChangeBroadcaster.column(of: query)] += 1 }
        guard !observers.isEmpty else { return [] }
        let told = (observers[query] ?? []) + (exactly ? [] : observers[nil] ?? [])
        guard told.count > 1 else { return told }
        var seen: Set<Int> = []
        return told.filter { seen.insert($0).inserted }
    }
}
