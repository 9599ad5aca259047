/// What an origin may not exceed (R43). Past a limit its answer is refused as a whole, with a failure that names the
/// limit.
///
/// Limits of size, depth and number are failures of class `hostile`, and permanent; limits of time are failures of
/// class `timeout`, and tried again (R27). What is out of range counts as the nearest that is not.
public struct HTTPLimits: Hashable, Sendable {
    /// Bytes of a body as they come over the wire, compressed or not. 0…. Default: 32 MiB.
    public var body = 32 << 20
    /// Bytes of a body once it is decompressed. 0…. Default: 64 MiB.
    public var decompressedBody = 64 << 20
    /// How many times as large a body may be as it was on the wire. Looked at as soon as more than 1 MiB has come out
    /// of it, so that a bomb ends early; lists that compress better than 200 times are rare. 1…. Default: 200.
    public var inflation = 200
    /// Bytes of the header of an answer: names, values, and four for each field. One field has 80 KiB at most, and
    /// there are no more than 256 of them, whatever is set here. 0…. Default: 64 KiB.
    public var header = 64 << 10
    /// Items in one page. 0…. Default: 10,000.
    public var itemsPerPage = 10_000
    /// Bytes of one item. 0…. Default: 8 MiB.
    public var item = 8 << 20
    /// Nesting of arrays and objects. Default: 64.
    public var depth = 64
    /// Redirects followed for one request. 0…. Default: 5.
    public var redirects = 5
    /// Time until a connection stands, TLS included. 1 millisecond…24 hours. Default: 10 seconds.
    public var connectTimeout: Duration = .seconds(10)
    /// Time for a request in all, to the last byte of its answer; where it is redirected, for each step. 1
    /// millisecond…24 hours. Default: 60 seconds.
    public var requestTimeout: Duration = .seconds(60)
    /// Bytes a second, decompressed, that have to come at least once the answer has begun, on average over
    /// `throughputWindow`. An origin that drips is given up long before a long `requestTimeout`. 0 is no such limit.
    /// Default: 1,024.
    public var minimumThroughput = 1_024
    /// The time over which `minimumThroughput` is looked at, again and again. More than 0. Default: 10 seconds.
    public var throughputWindow: Duration = .seconds(10)
    /// Connections to the origin at a time. 1…. Default: 8.
    public var connections = 8

    /// The defaults.
    public init() {}
}
