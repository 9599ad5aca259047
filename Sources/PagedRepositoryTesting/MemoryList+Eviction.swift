import PageModel

/// The times of reads, and the removal of the pages that were read longest ago (R40).
extension MemoryList {
    /// Notes that items at these positions were read. A later transaction sets the time of the reads.
    mutating func markRead(_ range: Range<Int>) {
        for index in pages.indices where !pages[index].isEmpty && pages[index].meets(range) {
            pages[index].isMarked = true
        }
    }

    mutating func stampReads(at now: Timestamp) {
        for index in pages.indices where pages[index].isMarked {
            pages[index].isMarked = false
            pages[index].readAt = max(now, pages[index].readAt ?? now)
        }
    }

    /// Removes the page at `offset` without moving other pages. Also removes its fetch record if the last fetch
    /// succeeded.
    mutating func evict(at offset: Int) -> ChangeSet.Change? {
        guard let index = pages.firstIndex(where: { $0.offset == offset }) else { return nil }
        ledger.forgetSuccess(at: offset)
        let range = pages.remove(at: index).range
        draft.dropped(range)
        return .dropped(range)
    }
}
