/// Which content of a list a read returned (R51).
///
/// The counter is one higher with every commit that changes what a reader can see. The stamp is a random number that
/// the same transaction stores. Two reads with equal counters and equal stamps returned the same content.
///
/// The counter alone proves nothing: a restored backup gives a counter again, with other content.
///
/// `ListVersion` is another thing: a plan names it, and only commits that move positions change it (R4).
public struct ContentVersion: Hashable, Sendable {
    /// 1 when the list is registered; one higher with every commit that readers can see. 0 where nothing is stored.
    public var counter: Int
    /// A random number of the commit, 0…2^64 - 1.
    public var stamp: UInt64

    /// A version of this counter and this stamp.
    public init(counter: Int, stamp: UInt64) {
        self.counter = counter
        self.stamp = stamp
    }

    /// The version of a list that no commit has written.
    public static let none = ContentVersion(counter: 0, stamp: 0)
}
