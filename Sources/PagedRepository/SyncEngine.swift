public import Logging
public import PageModel

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// Keeps lists up to date in the background: retries that are due (R28), page one of lists that are pinned or that
/// somebody in this process observes, what pinned lists lack, sweeps that were cut off.
///
/// `run()` is all there is: it works until its task is cancelled, and leaves no lease behind then. Several processes
/// may run one each on one store: leases see to it that no page is fetched twice at a time (R30).
///
/// ```swift
/// let engine = SyncEngine(storage: store) { record in sources[record.key] }
/// try await engine.run()
/// ```
public struct SyncEngine: Sendable {
    /// Where a list comes from.
    public struct Origin: Sendable {
        /// Names what is shared: lists of one name share limits, and are away together. For HTTP: scheme, host and
        /// port.
        public var name: String
        /// Where its pages come from.
        public var source: any PageSource
        /// The limits that the source shares with others in this process: lists in the foreground, mostly. Nil: the
        /// engine's own for this name, as `EngineOptions` say. All lists of one name should bring the same.
        public var gate: OriginGate?

        /// An origin; `name` is what is shared.
        public init(_ name: String, _ source: any PageSource, gate: OriginGate? = nil) {
            self.name = name
            self.source = source
            self.gate = gate
        }
    }

    let storage: any PageStorage
    let options: EngineOptions
    let clock: any SyncClock
    let chance: @Sendable () -> Double
    let logger: Logger
    let origin: @Sendable (QueryRecord) -> Origin?

    /// - Parameters:
    ///   - storage: where the lists are.
    ///   - options: how background work goes. Default: the defaults.
    ///   - clock: the time. Default: the wall clock.
    ///   - chance: random numbers in 0..<1 that spread retries (R28, R29).
    ///   - logger: what it says; see `Documentation/Observability.md`.
    ///   - origin: where a list comes from; nil for lists that are none of this engine's business.
    public init(
        storage: any PageStorage, options: EngineOptions = EngineOptions(), clock: any SyncClock = SystemClock(),
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.engine"),
        origin: @escaping @Sendable (QueryRecord) -> Origin?
    ) {
        self.storage = storage
        self.options = options
        self.clock = clock
        self.chance = chance
        self.logger = logger
        self.origin = origin
    }

    /// Works until the task is cancelled, and returns then. Idle, it waits for a commit or for the next moment at which
    /// something is due, and for nothing else.
    /// - Throws: `StorageError` when the storage fails for good. A store that is busy, or a disk that is full, is tried
    ///   again.
    public func run() async throws(StorageError) {
        let stop = EngineStop()
        #if ServiceLifecycle
        let result = await withGracefulShutdownHandler { () async -> Result<Void, StorageError> in
            do throws(StorageError) { return .success(try await EngineRun(self, stop).run()) } catch {
                return .failure(error)
            }
        } onGracefulShutdown: {
            stop.now()
        }
        try result.get()
        #else
        try await EngineRun(self, stop).run()
        #endif
    }
}

#if ServiceLifecycle
/// A `ServiceGroup` can own background work: it stops when the group shuts down, in whichever way, with every lease
/// given back.
extension SyncEngine: Service {}
#endif
