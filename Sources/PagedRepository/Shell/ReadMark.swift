import PageModel

/// When something of a list was read, and what the storage had counted of its changes just before: while it counts the
/// same, what was read is what is stored, and need not be read again.
struct ReadMark: Sendable {
    var changeCount: UInt64
    /// The reader's time, taken before the read.
    var readAt: Timestamp
    /// The storage's time of the read.
    var storedAt: Timestamp

    /// For so long a list is believed to be what it was while nothing is told of it. A notice that was lost, with its
    /// file for example, is not lost for good (R41); and what is shown all the time is read often enough not to be
    /// evicted (R40).
    static let trust = Duration.seconds(5)

    /// The storage's time at a later time of the reader.
    func storageTime(at now: Timestamp) -> Timestamp { storedAt + (now - readAt) }

    func holds(_ count: UInt64?, now: Timestamp) -> Bool {
        // A clock that was set back counts for nothing.
        count == changeCount && now >= readAt && now - readAt < ReadMark.trust
    }
}
