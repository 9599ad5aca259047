import PageModel

/// An engine's view of the lists. Lists are read once, and again only after a reported change.
///
/// Owned by the engine's task.
struct ListRegistry {
    /// The record of every query.
    private(set) var records: [QueryID: QueryRecord] = [:]
    /// The facts about wanted lists that decide their work.
    private var lists: [QueryID: SyncScheduler.List] = [:]
    /// The lists with a reported change that have not been read since.
    private var unread: Set<QueryID> = []
    /// The time when all records were read. `nil` means that they must be read.
    private var readAt: Timestamp?

    /// The time after which all lists are read again. A lost notice thus has no lasting effect (R41).
    private static let trust = Duration.seconds(60)

    /// Returns the wanted lists by id, as they are after the reported changes. Lists that are being worked on are
    /// skipped, and read later.
    mutating func wanted(
        _ changes: PendingChanges.Changes, observed: Set<QueryID>, isRunning: (QueryID) -> Bool,
        in storage: any PageStorage,
        now: Timestamp
    ) async throws(StorageError) -> [SyncScheduler.List] {
        do throws(StorageError) {
            let isOld = readAt.map { now < $0 || now - $0 >= ListRegistry.trust } ?? true
            if isOld || changes.isEverything { (lists, unread) = ([:], []) } else { unread.formUnion(changes.queries) }
            if isOld || changes.isEverything || changes.isByOthers {
                try await readRecords(in: storage)
                if isOld || changes.isEverything { readAt = now }
            }
            // A changed list may have become a wanted one.
            for query in unread.sorted(by: { $0.rawValue < $1.rawValue }) where !isRunning(query) {
                _ = try await read(query, in: storage)
            }
            var wanted: [SyncScheduler.List] = []
            for record in records.values.sorted(by: { $0.id.rawValue < $1.id.rawValue })
            where ListRegistry.isWanted(record, observed) && !isRunning(record.id) {
                let list: SyncScheduler.List?
                if let known = lists[record.id] { list = known } else { list = try await read(record.id, in: storage) }
                if let list, let now = records[record.id], ListRegistry.isWanted(now, observed) { wanted.append(list) }
            }
            return wanted
        } catch {
            // The same changes are not reported again, so the next look reads everything.
            readAt = nil
            throw error
        }
    }

    /// Whether the list is pinned, observed in this process, or in the middle of a sweep.
    static func isWanted(_ record: QueryRecord, _ observed: Set<QueryID>) -> Bool {
        record.isPinned || observed.contains(record.id) || record.sweep != nil
    }

    /// Reads the list. Returns nil when it no longer exists. Only a list that is pinned or being swept is read as a
    /// whole; page one suffices for the others.
    mutating func read(_ query: QueryID, in storage: any PageStorage) async throws(StorageError) -> SyncScheduler.List?
    {
        unread.remove(query)
        var list: ListOutline?
        do throws(StorageError) {
            let isWhole = ListRegistry.isReadWhole(records[query])
            list = isWhole ? try await storage.outline(of: query) : try await storage.excerpt(of: query, 0..<1)
            if !isWhole, ListRegistry.isReadWhole(list?.record) { list = try await storage.outline(of: query) }
        } catch {
            // A damaged record is left to the repair of the storage. `records` skips it too.
            guard error.code == .damaged else { throw error }
        }
        records[query] = list?.record
        lists[query] = list.map(SyncScheduler.List.init)
        return lists[query]
    }

    private static func isReadWhole(_ record: QueryRecord?) -> Bool {
        record.map { $0.isPinned || $0.sweep != nil } ?? false
    }

    /// Reads all records. Notices do not name the lists that other processes have purged.
    private mutating func readRecords(in storage: any PageStorage) async throws(StorageError) {
        let before = records
        records = Dictionary(try await storage.records().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        lists = lists.filter { query, _ in records[query] == before[query] }
    }
}
