import PageModel

/// The journal of a list in memory (R48): one entry for each version, the newest last.
struct MemoryJournal: Sendable {
    private var entries: [JournalEntry] = []
    /// The sum of the costs of all entries.
    private var kept = 0

    /// The version of the list.
    var version: ContentVersion { entries.last?.version ?? .none }

    /// Gives the list its next version, and records the changes.
    mutating func append(_ draft: JournalDraft, stamp: UInt64, at now: Timestamp, bound: JournalBound) {
        let version = ContentVersion(counter: version.counter + 1, stamp: stamp)
        if draft.beginsAnew {
            entries = []
            kept = 0
        }
        let entry = JournalEntry(version: version, at: now, changes: draft.changes)
        kept += entry.cost
        if kept > bound.bytes {
            var pruning = JournalPruning(bound, kept: kept, at: now)
            for entry in entries where !pruning.next(at: entry.at, cost: entry.cost) { break }
            entries.removeFirst(pruning.count)
            kept = pruning.kept
        }
        entries.append(entry)
    }

    func changes(since version: ContentVersion, limit: Int) -> ListChanges {
        guard let index = entries.firstIndex(where: { $0.version == version }) else {
            return .truncated(current: self.version)
        }
        return ListChanges.page(entries[(index + 1)...], since: version, limit: max(0, limit))
    }
}
