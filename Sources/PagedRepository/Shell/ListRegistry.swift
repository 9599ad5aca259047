import PageModel

/// An engine's view of the lists. Lists are read once, and again only after a reported change, or when the last reading
/// of all lists is 60 seconds old.
///
/// Owned by the engine's task.
struct ListRegistry {
    /// The record of every query.
    private(set) var records: [QueryID: QueryRecord] = [:]
    /// The facts about lists that decide whether work is due, as they were read last.
    private var lists: [QueryID: SyncScheduler.List] = [:]
    /// The lists with a reported change that have not been read since.
    private var unread: Set<QueryID> = []
    /// The time when all records were read. `nil` means that they must be read.
    private var readAt: Timestamp?

    /// The time after which all lists are read again. A lost notice thus has no lasting effect (R41).
    private static let trust = Duration.seconds(60)

    /// Returns the wanted lists, ordered by id, as they are after the reported changes. Lists with a run under way are
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
            // A list that has changed may be wanted now.
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

    /// Reads the list. Returns nil when the list no longer exists. The whole outline is read only if the list is
    /// pinned, or has an unfinished sweep. For other lists page one suffices.
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

    /// Reads all records, because notices do not name the lists that other processes have purged.
    private mutating func readRecords(in storage: any PageStorage) async throws(StorageError) {
        let before = records
        records = Dictionary(try await storage.records().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        lists = lists.filter { query, _ in records[query] == before[query] }
    }
}
