public import Logging
public import PageModel

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// Keeps lists up to date in the background.
///
/// An engine runs retries that are due (R28), and refreshes page one of lists that are pinned or observed in this
/// process. It fetches missing pages of pinned lists, and finishes interrupted sweeps.
///
/// `run()` works until its task is cancelled, and releases all leases before it returns. Several processes may each run
/// an engine on one store. Leases prevent two of them from fetching a page at the same time (R30).
///
/// ```swift
/// let engine = SyncEngine(storage: store) { record in sources[record.key] }
/// try await engine.run()
/// ```
public struct SyncEngine: Sendable {
    /// The origin of a list.
    public struct Origin: Sendable {
        /// The name of the origin. Lists with the same name share request limits, and go offline together. For HTTP,
        /// the name should consist of scheme, host and port.
        public var name: String
        /// The source of the list's pages.
        public var source: any PageSource
        /// The limits that the source shares with other users in this process, mostly lists in the foreground. `nil`
        /// means the engine's own limits for this name, as set in `EngineOptions`. All lists with the same name should
        /// use the same gate.
        public var gate: OriginGate?

        /// Creates an origin.
        public init(_ name: String, _ source: any PageSource, gate: OriginGate? = nil) {
            self.name = name
            self.source = source
            self.gate = gate
        }
    }

    let storage: any PageStorage
    let options: EngineOptions
    let clock: any SyncClock
    let jitter: @Sendable () -> Double
    let logger: Logger
    let origin: @Sendable (QueryRecord) -> Origin?

    /// - Parameters:
    ///   - storage: the storage that holds the lists.
    ///   - options: the options of background work. Defaults to the defaults of `EngineOptions`.
    ///   - clock: the clock for pauses and timestamps. Defaults to the wall clock.
    ///   - jitter: returns random numbers in 0..<1 that spread retries (R28, R29).
    ///   - logger: receives the log lines of the engine; see `Documentation/Observability.md`.
    ///   - origin: returns the origin of a list. `nil` means that this engine does no work for the list.
    public init(
        storage: any PageStorage, options: EngineOptions = EngineOptions(), clock: any SyncClock = SystemClock(),
        jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.engine"),
        origin: @escaping @Sendable (QueryRecord) -> Origin?
    ) {
        self.storage = storage
        self.options = options.bounded
        self.clock = clock
        self.jitter = jitter
        self.logger = logger
        self.origin = origin
    }

    /// Works until the task is cancelled, and then returns. An idle engine waits for a commit or for the next due time.
    /// - Throws: `StorageError` when the storage fails permanently. When the store is busy, the disk is full, the
    ///   storage takes too long or its server is unreachable, the engine tries again after
    ///   `EngineOptions.circuitPause`.
    public func run() async throws(StorageError) {
        let stop = StopRequest()
        #if ServiceLifecycle
        let result = await withGracefulShutdownHandler { () async -> Result<Void, StorageError> in
            do throws(StorageError) { return .success(try await EngineRun(self, stop).run()) } catch {
                return .failure(error)
            }
        } onGracefulShutdown: {
            stop.request()
        }
        try result.get()
        #else
        try await EngineRun(self, stop).run()
        #endif
    }
}

#if ServiceLifecycle
/// A `ServiceGroup` can run an engine as a service. The engine stops when the group shuts down, gracefully or by
/// cancellation, and releases its leases.
extension SyncEngine: Service {}
#endif
