/// Who observes which query, and whether it has changed since somebody looked: a plain value.
struct NoticeAudience {
    private struct Entry {
        /// Observers by number. Who asked twice is in here twice.
        var numbers: [Int]
        /// Another number after each change; never one that the query, or any other, had before.
        var count: UInt64
    }

    /// Under nil, who observes all queries.
    private var entries: [QueryID?: Entry] = [:]
    private var lastCount: UInt64 = 0

    /// The queries that somebody observes by name.
    var queries: [QueryID] { entries.keys.compactMap { $0 } }

    /// Whether somebody observes all of them.
    var observesAll: Bool { entries[nil] != nil }

    /// Nil when nobody observes the query by name: then nobody counts.
    func changeCount(of query: QueryID) -> UInt64? { entries[query]?.count }

    mutating func add(_ number: Int, to query: QueryID?) {
        lastCount += 1
        // Only the first one brings the count: a second listener is no change.
        entries[query, default: Entry(numbers: [], count: lastCount)].numbers.append(number)
    }

    /// Takes back one `add`.
    mutating func remove(_ number: Int, from query: QueryID?) {
        guard let index = entries[query]?.numbers.firstIndex(of: number) else { return }
        entries[query]?.numbers.remove(at: index)
        if entries[query]?.numbers.isEmpty ?? false { entries[query] = nil }
    }

    /// Takes back every `add` of this observer. Costs a look at all queries.
    mutating func remove(_ number: Int) {
        for query in Array(entries.keys) where entries[query]?.numbers.contains(number) ?? false {
            entries[query]?.numbers.removeAll { $0 == number }
            if entries[query]?.numbers.isEmpty ?? false { entries[query] = nil }
        }
    }

    /// Something happened to `query`. Returns whom to tell, each once.
    /// - Parameter exactly: whether those who observe all queries are left out.
    mutating func changed(_ query: QueryID?, exactly: Bool) -> [Int] {
        lastCount += 1
        entries[query]?.count = lastCount
        let told = (entries[query]?.numbers ?? []) + (exactly ? [] : entries[nil]?.numbers ?? [])
        guard told.count > 1 else { return told }
        var seen: Set<Int> = []
        return told.filter { seen.insert($0).inserted }
    }
}
