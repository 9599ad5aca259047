import PageModel

/// What an engine knows of the lists: read once, and again only where something was told.
///
/// Belongs to the engine's task.
struct EngineRoster {
    /// The record of every query.
    private(set) var records: [QueryID: QueryRecord] = [:]
    /// What lists that are wanted are to be judged by.
    private var lists: [QueryID: Agenda.List] = [:]
    /// Lists that were told of, and not read since.
    private var unread: Set<QueryID> = []
    /// When all records were read; nil: they have to be.
    private var readAt: Timestamp?

    /// A notice that was lost is not lost for good (R41): at a look after so long, everything is read again.
    private static let trust = Duration.seconds(60)

    /// The lists that somebody wants to have, by id, as they are after what was told. What is running is left for
    /// later.
    mutating func wanted(
        _ told: EngineNews.Told, observed: Set<QueryID>, isRunning: (QueryID) -> Bool, in storage: any PageStorage,
        now: Timestamp
    ) async throws(StorageError) -> [Agenda.List] {
        do throws(StorageError) {
            let isOld = readAt.map { now < $0 || now - $0 >= EngineRoster.trust } ?? true
            if isOld || told.isEverything { (lists, unread) = ([:], []) } else { unread.formUnion(told.queries) }
            if isOld || told.isEverything || told.isByOthers {
                try await readRecords(in: storage)
                if isOld || told.isEverything { readAt = now }
            }
            // Somebody may have begun to want them.
            for query in unread.sorted(by: { $0.rawValue < $1.rawValue }) where !isRunning(query) {
                _ = try await read(query, in: storage)
            }
            var wanted: [Agenda.List] = []
            for record in records.values.sorted(by: { $0.id.rawValue < $1.id.rawValue })
            where EngineRoster.isWanted(record, observed) && !isRunning(record.id) {
                let list: Agenda.List?
                if let known = lists[record.id] { list = known } else { list = try await read(record.id, in: storage) }
                if let list, let now = records[record.id], EngineRoster.isWanted(now, observed) { wanted.append(list) }
            }
            return wanted
        } catch {
            // What was told is not told again.
            readAt = nil
            throw error
        }
    }

    /// Pinned, or observed by somebody in this process, or in the middle of a sweep.
    static func isWanted(_ record: QueryRecord, _ observed: Set<QueryID>) -> Bool {
        record.isPinned || observed.contains(record.id) || record.sweep != nil
    }

    /// The list as it is now; nil when it is gone. Only lists that are to be whole are looked at as a whole.
    mutating func read(_ query: QueryID, in storage: any PageStorage) async throws(StorageError) -> Agenda.List? {
        unread.remove(query)
        var list: ListOutline?
        do throws(StorageError) {
            let isPinned = records[query]?.isPinned ?? false
            list = isPinned ? try await storage.outline(of: query) : try await storage.excerpt(of: query, 0..<1)
            if !isPinned, list?.record.isPinned ?? false { list = try await storage.outline(of: query) }
        } catch {
            // A record that is damaged is left to those who repair it, as `records` leaves it.
            guard error.code == .damaged else { throw error }
        }
        records[query] = list?.record
        lists[query] = list.map(Agenda.List.init)
        return lists[query]
    }

    /// Which lists are gone, nobody else tells for sure.
    private mutating func readRecords(in storage: any PageStorage) async throws(StorageError) {
        let before = records
        records = Dictionary(try await storage.records().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        lists = lists.filter { query, _ in records[query] == before[query] }
    }
}
