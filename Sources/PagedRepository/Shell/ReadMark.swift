import PageModel

/// The time of a read, and the storage's change count just before it. As long as the count stays the same, the content
/// that was read is the stored content.
struct ReadMark: Sendable {
    var changeCount: UInt64
    /// The reader's time before the read.
    var readAt: Timestamp
    /// The storage's time of the read.
    var storedAt: Timestamp

    /// How long a read counts as current without a reported change. The limit keeps a lost notice from having a lasting
    /// effect (R41). It also makes sure that a list in use is read often enough not to be evicted (R40).
    static let trust = Duration.seconds(5)

    /// Converts a later time of the reader into the storage's time.
    func storageTime(at now: Timestamp) -> Timestamp { storedAt + (now - readAt) }

    func holds(_ count: UInt64?, now: Timestamp) -> Bool {
        // After a clock was set back, the read no longer counts as current.
        count == changeCount && now >= readAt && now - readAt < ReadMark.trust
    }
}
