/// Who observes which query, and whether it has changed since somebody looked: a plain value.
///
/// Changes are counted whether anybody observes or not, in as many columns as a query can fall into: what is counted
/// for one query is, now and then, another one's change, and costs whoever asks a read in vain.
struct NoticeAudience {
    /// Observers by number; under nil, of all queries. Who asked twice is in here twice.
    private var observers: [QueryID?: [Int]] = [:]
    /// Of each column: another number after each change, and never one that it had before.
    private var counts = [UInt64](repeating: 0, count: NoticeHub.columns)

    /// The queries that somebody observes by name.
    var queries: [QueryID] { observers.keys.compactMap { $0 } }

    /// Whether somebody observes all of them.
    var observesAll: Bool { observers[nil] != nil }

    func changeCount(of query: QueryID) -> UInt64 { counts[NoticeHub.column(of: query)] }

    mutating func add(_ number: Int, to query: QueryID?) { observers[query, default: []].append(number) }

    /// Takes back one `add`.
    mutating func remove(_ number: Int, from query: QueryID?) {
        guard let index = observers[query]?.firstIndex(of: number) else { return }
        observers[query]?.remove(at: index)
        if observers[query]?.isEmpty ?? false { observers[query] = nil }
    }

    /// Takes back every `add` of this observer. Costs a look at all queries.
    mutating func remove(_ number: Int) {
        for query in Array(observers.keys) where observers[query]?.contains(number) ?? false {
            observers[query]?.removeAll { $0 == number }
            if observers[query]?.isEmpty ?? false { observers[query] = nil }
        }
    }

    /// Something may have happened to every query of these columns.
    mutating func changed(columns: Set<Int>) {
        for column in columns { counts[column] += 1 }
    }

    /// Something happened to `query`. Returns whom to tell, each once.
    /// - Parameter exactly: whether those who observe all queries are left out.
    mutating func changed(_ query: QueryID?, exactly: Bool) -> [Int] {
        if let query { counts[NoticeHub.column(of: query)] += 1 }
        guard !observers.isEmpty else { return [] }
        let told = (observers[query] ?? []) + (exactly ? [] : observers[nil] ?? [])
        guard told.count > 1 else { return told }
        var seen: Set<Int> = []
        return told.filter { seen.insert($0).inserted }
    }
}
