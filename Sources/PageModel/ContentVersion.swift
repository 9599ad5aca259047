/// The version of a list's content that a read returned (R51).
///
/// The counter grows by one with every commit that changes something a reader can see. The stamp is a random number
/// that the same transaction stores. Two reads with equal counters and equal stamps returned the same content.
///
/// The counter alone proves nothing: a restored backup can reuse a counter with other content.
///
/// Do not confuse it with `ListVersion`. A plan names a `ListVersion` (R4). Only these commits change a `ListVersion`:
/// those that move positions, remove them, mark them as stale or begin a generation, and repairs of the list.
public struct ContentVersion: Hashable, Sendable {
    /// The number of visible commits: 1 when the list is registered, and one higher with every later commit that
    /// readers can see. 0 means that no commit is stored.
    public var counter: Int
    /// A random number of the commit, with 64 bits.
    public var stamp: UInt64

    /// A version of this counter and this stamp.
    public init(counter: Int, stamp: UInt64) {
        self.counter = counter
        self.stamp = stamp
    }

    /// The version of a list that no commit has written.
    public static let none = ContentVersion(counter: 0, stamp: 0)
}
