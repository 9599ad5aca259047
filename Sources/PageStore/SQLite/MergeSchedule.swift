/// Decides after which commits the write-ahead log is merged into the database file.
///
/// A merge is due when the log has reached its threshold. A reader may keep the log from restarting. The merge is then
/// attempted again after each further sixteenth of the threshold.
struct MergeSchedule: Equatable {
    /// The threshold, in bytes of database pages. 1 or more.
    let bytes: Int
    /// The size of the log at the last attempt. 0 when the log has restarted since.
    private var attemptedAt = 0

    init(bytes: Int) { self.bytes = max(1, bytes) }

    /// Returns whether a merge is due, and records the attempt.
    /// - Parameter size: the size of the pages in the log after a commit, in bytes.
    mutating func isDue(at size: Int) -> Bool {
        if size < attemptedAt { attemptedAt = 0 }
        guard size >= bytes, attemptedAt == 0 || size - attemptedAt >= bytes / 16 else { return false }
        attemptedAt = size
        return true
    }
}
