import PageModel
import Synchronization

/// A list that may have listeners.
protocol WatchedList: AnyObject, Sendable {
    /// Handles the notices for the list. `notices` is empty when a listener was added or has ended. Calls for one list
    /// do not overlap.
    func handle(_ notices: [StorageNotice]) async
}

/// Receives the storage's notices, and forwards them to the lists that have listeners.
///
/// All lists share one stream and one task, so a list without changes costs only its entry here. Notices are queued for
/// each list. At most four tasks deliver them, and only while notices are queued. Each task serves one list after the
/// other, with all queued notices of the list at once. So ten thousand lists that are opened together are read a few at
/// a time.
///
/// State: the lists, the observation of each, the order of deliveries, the number of tasks, and the storage's watch.
/// One mutex guards all of it, and it is not held while other code runs. An entry is removed with its list.
final class ChangeDispatcher: Sendable {
    /// The notices for one call of a list's `handle`.
    private struct Delivery {
        var id: ObjectIdentifier
        var list: any WatchedList
        var notices: [StorageNotice]
    }

    private struct State {
        var scheduler = ChangeScheduler()
        var lists: [ObjectIdentifier: Known] = [:]
        var workers = 0
        var watch: StorageWatch?
        var listening: Task<Void, Never>?
    }

    private struct Known {
        weak var list: (any WatchedList)?
    }

    /// The maximum number of tasks. Most storages serve this many concurrent reads, so more tasks would only wait for
    /// each other.
    private static let mostWorkers = 4

    private let state = Mutex(State())
    private let storage: any PageStorage
    private let executor: (any TaskExecutor)?

    init(_ storage: any PageStorage, on executor: (any TaskExecutor)?) {
        self.storage = storage
        self.executor = executor
    }

    deinit { state.withLock { $0.listening }?.cancel() }

    // MARK: Lists

    /// Records that the list has a new listener. A list that already observes its query needs no call.
    func listenerAdded(to list: some WatchedList) {
        updateScheduler(list) { $0.listenerAdded(to: ObjectIdentifier(list)) }
    }

    /// Records that the list has lost its last listener.
    func listenersRemoved(from list: some WatchedList) {
        updateScheduler(list) { $0.listenersRemoved(from: ObjectIdentifier(list)) }
    }

    private func updateScheduler(_ list: some WatchedList, _ change: (inout ChangeScheduler) -> Void) {
        let missing = state.withLock { state in
            if state.lists[ObjectIdentifier(list)] == nil { state.lists[ObjectIdentifier(list)] = Known(list: list) }
            change(&state.scheduler)
            return ChangeDispatcher.reserveWorkers(&state)
        }
        begin(missing)
    }

    /// Starts forwarding changes of `query` to the list. `nil` means changes of all queries, because any of them may
    /// store the list. A list has one observation at a time, so the call ends an earlier one.
    func observe(_ query: QueryID?, _ list: some WatchedList) {
        let before = state.withLock { state in
            if state.lists[ObjectIdentifier(list)] == nil { state.lists[ObjectIdentifier(list)] = Known(list: list) }
            return state.scheduler.observe(query, ObjectIdentifier(list))
        }
        let watch = watch()
        watch.subscribe(query)
        unsubscribe(before)
    }

    /// Ends the list's observation, and drops its queued notices.
    func stop(_ list: some WatchedList) { unsubscribe(state.withLock { $0.scheduler.stop(ObjectIdentifier(list)) }) }

    /// Removes the list.
    func forget(_ id: ObjectIdentifier) {
        unsubscribe(
            state.withLock { state in
                state.lists[id] = nil
                return state.scheduler.forget(id)
            })
    }

    private func unsubscribe(_ observation: ChangeScheduler.Observation?) {
        guard case .observing(let query) = observation else { return }
        state.withLock { $0.watch }?.unsubscribe(query)
    }

    // MARK: The storage

    /// Returns the storage's watch. The watch is created when the first list observes a query, so a repository without
    /// listeners has no task.
    private func watch() -> StorageWatch {
        if let watch = state.withLock({ $0.watch }) { return watch }
        let made = storage.watch()
        let (watch, isNew) = state.withLock { state in
            if let watch = state.watch { return (watch, false) }
            state.watch = made
            return (made, true)
        }
        guard isNew else { return watch }
        // The task does not inherit the priority of the first listener.
        let listening = Task(executorPreference: executor, priority: .medium) { [weak self] in
            for await notice in made.notices { self?.receive(notice) }
        }
        state.withLock { $0.listening = listening }
        return watch
    }

    private func receive(_ notice: StorageNotice) {
        begin(
            state.withLock { state in
                state.scheduler.enqueue(notice)
                return ChangeDispatcher.reserveWorkers(&state)
            })
    }

    // MARK: Deliveries

    /// Counts tasks for the queued notices as started. Returns the number of tasks to start.
    private static func reserveWorkers(_ state: inout State) -> Int {
        let count = min(mostWorkers - state.workers, state.scheduler.queuedCount)
        state.workers += count
        return count
    }

    private func begin(_ count: Int) {
        for _ in 0..<count { Task(executorPreference: executor, priority: .medium) { await self.work() } }
    }

    private func work() async {
        while let delivery = next() {
            await delivery.list.handle(delivery.notices)
            state.withLock { $0.scheduler.ended(delivery.id) }
        }
    }

    private func next() -> Delivery? {
        state.withLock { state in
            while let (id, notices) = state.scheduler.next() {
                // A list that is being deallocated receives no more notices.
                if let list = state.lists[id]?.list { return Delivery(id: id, list: list, notices: notices) }
                state.scheduler.ended(id)
            }
            state.workers -= 1
            return nil
        }
    }
}
