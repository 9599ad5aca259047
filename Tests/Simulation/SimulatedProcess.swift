import Logging
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization

/// A process of a simulated world: a repository with its list, background work and observers, until it is stopped or
/// killed.
///
/// State: the tasks, the findings and the hits, under a mutex. The tasks of a killed process are suspended until
/// `bury()`.
final class SimulatedProcess: Sendable {
    typealias List = PagedList<[UInt8]>

    private struct State {
        var engine: Task<Void, Never>?
        var viewers: [Task<Void, Never>] = []
        var calls: [Int: Task<Void, Never>] = [:]
        var nextCall = 0
        var findings: [String] = []
        var hits: [String: Int] = [:]
    }

    let number: Int
    let crash = Crash()
    let suspension = ProcessSuspension()
    let repository: ListRepository<[UInt8]>
    let list: List
    private let world: World
    private let storage: SuspendableStorage
    private let source: SuspendableSource
    /// The clock of the process, which may be wrong.
    private let clock: OwnClock
    private let chance: SeededRandom
    private let state = Mutex(State())

    /// The parts of a life that all of its processes share.
    struct World: Sendable {
        var key: QueryKey
        var storage: WitnessedStorage
        var origin: SimulatedOrigin
        var source: any PageSource
        var requests: RequestLog
        var clock: EventClock
        var executor: any TaskExecutor
        var trace: (@Sendable (String) -> Void)?
    }

    init(_ number: Int, in world: World, options: PagedListOptions, seed: UInt64, clockIsOffBy difference: Duration) {
        self.number = number
        self.world = world
        let clock = OwnClock(clock: world.clock, difference: difference)
        self.clock = clock
        let logged = LoggedSource(source: world.source, log: world.requests, process: number)
        storage = SuspendableStorage(
            storage: DoomedStorage(storage: world.storage, crash: crash), suspension: suspension)
        source = SuspendableSource(source: DoomedSource(source: logged, crash: crash), suspension: suspension)
        let chance = SeededRandom(seed: seed)
        self.chance = chance
        let source = source
        repository = ListRepository(
            storage: storage, codec: RawItemCodec(), options: options, clock: clock, jitter: { chance.next() },
            executor: world.executor, source: { _ in source })
        list = repository.list(world.key)
    }

    var findings: [String] { state.withLock { $0.findings } }
    var hits: [String: Int] { state.withLock { $0.hits } }
    var isWorking: Bool { state.withLock { $0.engine != nil } }
    var isLooking: Bool { state.withLock { !$0.viewers.isEmpty } }
    var openCalls: Int { state.withLock { $0.calls.count } }

    private func find(_ text: String) {
        if !crash.isOver { state.withLock { $0.findings.append("process \(number): \(text)") } }
    }

    private func hit(_ rule: String) { state.withLock { $0.hits[rule, default: 0] += 1 } }

    // MARK: Background work

    func work(_ options: EngineOptions) {
        guard !isWorking else { return }
        world.trace?("process \(number): starts background work")
        let (chance, source) = (chance, source)
        let engine = SyncEngine(
            storage: storage, options: options, clock: clock, jitter: { chance.next() },
            origin: { _ in SyncEngine.Origin("origin", source) })
        let task = Task(executorPreference: world.executor) {
            do {
                try await engine.run()
            } catch {
                self.find("background work ended: \(error)")
            }
        }
        state.withLock { $0.engine = task }
    }

    /// Stops background work and waits for its end. No page of it stays in flight.
    func rest() async {
        let engine = state.withLock { state in
            defer { state.engine = nil }
            return state.engine
        }
        world.trace?("process \(number): ends background work")
        engine?.cancel()
        await engine?.value
        world.trace?("process \(number): background work has ended")
        hit("R30 graceful shutdown")
    }

    // MARK: Calls

    /// Starts a call on the list, as an independent caller would.
    func call(_ name: String, _ body: @escaping @Sendable (List) async throws -> LoadOutcome?) {
        let number = state.withLock { state in
            state.nextCall += 1
            return state.nextCall
        }
        world.trace?("process \(self.number): \(name)")
        let task = Task(executorPreference: world.executor) {
            do {
                let outcome = try await body(self.list)
                self.world.trace?("process \(self.number): \(name): \(outcome.map { "\($0)" } ?? "done")")
                self.recordOutcome(name, outcome)
            } catch let failure as ListFailure {
                self.hit("R37 \(failure.kind.rawValue) failed")
            } catch let error as StorageError where error.code == .busy {
                self.hit("R42 busy")
            } catch is CancellationError {
                self.hit("X12 abandoned")
            } catch {
                self.find("\(name): \(error)")
            }
            self.state.withLock { $0.calls[number] = nil }
        }
        state.withLock { state in
            // The task may already have ended on another thread.
            state.calls[number] = task
        }
    }

    private func recordOutcome(_ name: String, _ outcome: LoadOutcome?) {
        switch outcome {
        case .joined: hit("R35 joined")
        case .superseded: hit("R36 superseded")
        case .endReached: hit("R35 end reached")
        case .notDue: find("R33: \(name) returned 'not due'")
        case .loaded(let count) where count < 0: find("R35: \(name) loaded \(count)")
        case .loaded, .upToDate, .changed, .cached, .itemLimitReached, nil: break
        case .undecodable(let count): find("R7: \(name) found \(count) undecodable items")
        }
    }

    /// Cancels all open calls (X12).
    func cancelCalls() {
        for call in state.withLock({ Array($0.calls.values) }) { call.cancel() }
    }

    /// Makes one separate run, like a job of a service.
    func sync(_ options: SyncOptions) async throws(StorageError) -> SyncReport {
        let chance = chance
        return try await ListSync(
            storage: storage, source: source, key: world.key, options: options, clock: clock, jitter: { chance.next() }
        ).run()
    }

    // MARK: Observers

    func look() {
        let (snapshots, events) = (list.snapshots, list.events)
        let viewers = [
            Task(executorPreference: world.executor) {
                for await snapshot in snapshots { await self.checkSnapshot(snapshot) }
            },
            Task(executorPreference: world.executor) {
                // The list may already be at its end.
                var arrivals = await self.world.storage.closings() - 1
                for await event in events { await self.checkEvent(event, &arrivals) }
            },
        ]
        state.withLock { $0.viewers += viewers }
    }

    func lookAway() {
        let viewers = state.withLock { state in
            defer { state.viewers = [] }
            return state.viewers
        }
        for viewer in viewers { viewer.cancel() }
    }

    /// Checks that the whole snapshot was true at one moment (R39).
    private func checkSnapshot(_ snapshot: ListSnapshot<[UInt8]>) async {
        hit("R39 snapshots")
        // The failure of page one is shown while a next page is loaded.
        let isOther = snapshot.activity == .loadingNext && snapshot.failure?.kind != .next
        if snapshot.activity != .idle, snapshot.failure != nil, !isOther {
            find("R37: a failure is shown while \(snapshot.activity)")
        }
        if !snapshot.unusable.isEmpty { find("R7: unusable at \(snapshot.unusable)") }
        guard snapshot.isLoaded || !snapshot.items.isEmpty else { return }
        let observedState = WitnessedStorage.ObservedState(
            version: snapshot.version, items: Array(snapshot.items), total: snapshot.total, end: snapshot.end,
            isLoaded: snapshot.isLoaded)
        if await !world.storage.wasTrue(observedState) {
            find(
                "R39: a snapshot equals the list at no moment: \(snapshot.items.count) items of \(snapshot.total), end \(String(describing: snapshot.end)), \(snapshot.version)"
            )
        }
    }

    private func checkEvent(_ event: ListEvent<[UInt8]>, _ arrivals: inout Int) async {
        switch event {
        case .pageLoaded(let range, let items):
            if range.count != items.count { find("C24: \(items.count) items for \(range)") }
            hit("C24 pages announced")
        case .endReached:
            // The end is reported once for each arrival (R38).
            arrivals += 1
            let closings = await world.storage.closings()
            if arrivals > closings { find("R38: the end was announced twice") }
            hit("R38 ends announced")
        case .reset: hit("R38 resets announced")
        case .failed, .refreshed, .undecodable, .changedElsewhere: break
        }
    }

    /// Suspends the machine of the process.
    func sleep(for duration: Duration) {
        world.trace?("process \(number): sleeps for \(duration)")
        suspension.begin()
        let (suspension, clock) = (suspension, world.clock)
        Task(executorPreference: world.executor) {
            try? await clock.sleep(for: duration)
            suspension.end()
        }
    }

    // MARK: End of the process

    /// Kills the process, which then makes no further call and records no further finding.
    func kill() {
        world.trace?("process \(number): killed")
        crash.strike()
        world.requests.died(number)
        hit("R31 killed")
    }

    /// Ends the tasks of the process. The store must not be inspected any more.
    func bury() async {
        suspension.end()
        crash.bury()
        let tasks = state.withLock { state -> [Task<Void, Never>] in
            defer { (state.engine, state.viewers, state.calls) = (nil, [], [:]) }
            return [state.engine].compactMap { $0 } + state.viewers + Array(state.calls.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
