public import PageModel

/// How background work goes; each default is said where it stands.
public struct EngineOptions: Hashable, Sendable {
    /// How fetching goes. `work` is set for each list.
    public var sync: SyncOptions = {
        var options = SyncOptions()
        // The engine waits; a run need not.
        options.patience = .zero
        options.honorsLedger = true
        return options
    }()
    /// When page one is fetched again, of lists that are pinned or observed. Default: the defaults; but what an origin
    /// calls fresh for less than 60 seconds is left alone for so long, because nobody waits for it. Page one is never
    /// fetched by itself before it is a second old, unless the list was invalidated.
    public var freshness = FreshnessPolicy(originWord: .taken(atLeast: .seconds(60)))
    /// Lists that are worked on at a time, in all. 1…. Default: 4.
    public var lists = 4
    /// Lists that are worked on at a time at one origin. 1…. Default: 2.
    public var listsPerOrigin = 2
    /// Requests in flight at a time at one origin, in all: `sync.concurrency` is what one list may have of them. 1….
    /// Default: 4. An origin that brings its own `OriginGate` has the limits of that.
    public var requestsPerOrigin = 4
    /// Requests each second at one origin, in the long run: 0.001…1,000; nil for no such limit. Default: nil.
    public var requestsPerSecond: Double?
    /// Over what time work that is overdue is spread when the engine starts: not all of it at once (R29). 0…. Default:
    /// 10 seconds.
    public var spread: Duration = .seconds(10)
    /// How long an origin that was not heard so many times in a row is left alone (R32): see `SyncOptions`. More than
    /// 0. Default: 30 seconds.
    public var circuitPause: Duration = .seconds(30)

    /// The defaults.
    public init() {}
}
