import PageModel
import Synchronization

/// A list that may have listeners.
protocol WatchedList: AnyObject, Sendable {
    /// Handles the notices for the list. `notices` is empty when a listener has come or left. Calls do not overlap.
    func hear(_ notices: [StorageNotice]) async
}

/// Receives the storage's notices, and forwards them to the lists that have listeners.
///
/// All lists share one stream and one task, so a list without changes costs only its entry here. Notices are queued for
/// each list. At most a few tasks exist, and only while notices are queued. They serve one list after the other, each
/// with all its notices at once. So ten thousand lists that are opened together are read a few at a time.
///
/// State: the lists, the place that each observes, the order of turns, the number of tasks, and the storage's watch.
/// One mutex guards all of it, and it is not held while other code runs. An entry ends with its list.
final class ChangeDispatcher: Sendable {
    /// The notices for one call of a list's `hear`.
    private struct Turn {
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

    /// Most storages serve this many concurrent reads. More tasks would only wait for each other.
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
    func came(to list: some WatchedList) { call(list) { $0.came(to: ObjectIdentifier(list)) } }

    /// Records that the list has lost its last listener.
    func left(_ list: some WatchedList) { call(list) { $0.left(ObjectIdentifier(list)) } }

    private func call(_ list: some WatchedList, _ change: (inout ChangeScheduler) -> Void) {
        let missing = state.withLock { state in
            if state.lists[ObjectIdentifier(list)] == nil { state.lists[ObjectIdentifier(list)] = Known(list: list) }
            change(&state.scheduler)
            return ChangeDispatcher.hire(&state)
        }
        begin(missing)
    }

    /// Starts forwarding changes of `query` to the list. `nil` means changes that may begin a list. A list observes one
    /// place at a time, so this ends its earlier observation.
    func follow(_ query: QueryID?, _ list: some WatchedList) {
        let before = state.withLock { state in
            if state.lists[ObjectIdentifier(list)] == nil { state.lists[ObjectIdentifier(list)] = Known(list: list) }
            return state.scheduler.follow(query, ObjectIdentifier(list))
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

    private func unsubscribe(_ place: ChangeScheduler.Place?) {
        guard case .follows(let query) = place else { return }
        state.withLock { $0.watch }?.unsubscribe(query)
    }

    // MARK: The storage

    /// Returns the storage's watch. It is created when the first list observes a query, so a repository without
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
            for await notice in made.notices { self?.told(notice) }
        }
        state.withLock { $0.listening = listening }
        return watch
    }

    private func told(_ notice: StorageNotice) {
        begin(
            state.withLock { state in
                state.scheduler.told(notice)
                return ChangeDispatcher.hire(&state)
            })
    }

    // MARK: Turns

    /// Returns the number of tasks to start.
    private static func hire(_ state: inout State) -> Int {
        let count = min(mostWorkers - state.workers, state.scheduler.turns)
        state.workers += count
        return count
    }

    private func begin(_ count: Int) {
        for _ in 0..<count { Task(executorPreference: executor, priority: .medium) { await self.work() } }
    }

    private func work() async {
        while let turn = next() {
            await turn.list.hear(turn.notices)
            state.withLock { $0.scheduler.ended(turn.id) }
        }
    }

    private func next() -> Turn? {
        state.withLock { state in
            while let (id, notices) = state.scheduler.next() {
                // A list that is being deallocated receives no more notices.
                if let list = state.lists[id]?.list { return Turn(id: id, list: list, notices: notices) }
                state.scheduler.ended(id)
            }
            state.workers -= 1
            return nil
        }
    }
}
