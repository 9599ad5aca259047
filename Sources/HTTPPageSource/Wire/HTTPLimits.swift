/// The limits for the answers of an origin (R43). An answer past a limit is refused as a whole, and the failure names
/// the limit.
///
/// Limits of size, depth and number fail with class `limitExceeded` and are permanent. Limits of time fail with class
/// `timeout` and are retried (R27). A value out of range counts as the nearest valid one.
public struct HTTPLimits: Hashable, Sendable {
    /// Bytes of a body on the wire, compressed or not. At least 0. Defaults to 32 MiB.
    public var body = 32 << 20
    /// Bytes of a body after decompression. At least 0. Defaults to 64 MiB.
    public var decompressedBody = 64 << 20
    /// The largest ratio of a body's decompressed size to its size on the wire. The ratio is checked once the body has
    /// inflated to more than 1 MiB, so that a bomb ends early. Lists that compress better than 200 times are rare. At
    /// least 1. Defaults to 200.
    public var inflation = 200
    /// Bytes of an answer's header: names, values, and four bytes for each field. One field has at most 80 KiB, and an
    /// answer at most 256 fields, whatever the setting. At least 0. Defaults to 64 KiB.
    public var header = 64 << 10
    /// Items in one page. At least 0. Defaults to 10,000.
    public var itemsPerPage = 10_000
    /// Bytes of one item. At least 0. Defaults to 8 MiB.
    public var item = 8 << 20
    /// The deepest nesting of arrays and objects. With 0, no array of items is accepted. Defaults to 64.
    public var depth = 64
    /// Redirects that are followed for one request. At least 0. Defaults to 5.
    public var redirects = 5
    /// The time for a connection to be established, TLS included. From 1 millisecond to 24 hours. Defaults to 10
    /// seconds.
    public var connectTimeout: Duration = .seconds(10)
    /// The time for a whole request, to the last byte of its answer. Each step of a redirect has this time. From 1
    /// millisecond to 24 hours. Defaults to 60 seconds.
    public var requestTimeout: Duration = .seconds(60)
    /// The smallest average throughput of a body, in decompressed bytes a second over `throughputWindow`. This limit
    /// ends a slow body long before a long `requestTimeout` does. 0 sets no such limit. Defaults to 1,024.
    public var minimumThroughput = 1_024
    /// The time over which `minimumThroughput` is measured, window after window. 0 or less sets no minimum throughput.
    /// Defaults to 10 seconds.
    public var throughputWindow: Duration = .seconds(10)
    /// The largest number of simultaneous connections to the origin. At least 1. Defaults to 8.
    public var connections = 8

    /// Makes the default limits.
    public init() {}
}
