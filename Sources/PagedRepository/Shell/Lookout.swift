import PageModel
import Synchronization

/// A list that somebody may listen to.
protocol WatchedList: AnyObject, Sendable {
    /// Something was told of the list, or somebody came or went: then nothing is in `notices`. One call at a time.
    func hear(_ notices: [StorageNotice]) async
}

/// Hears for all lists of a repository what happens in the storage, and hands it out to those that somebody listens to.
///
/// One stream and one task for all of them: a list that nothing happens to costs its entry here, and nothing else. What
/// there is to hear waits with its list; a few tasks, which live while there is something, let one list after the other
/// hear all of it at once. So ten thousand lists that are opened together are read a few at a time, and not all at
/// once.
///
/// State, under one mutex, which is not held while anybody else's code runs: the lists; what each of them follows;
/// whose turn it is; how many tasks work; the storage's watch. An entry dies with its list.
final class Lookout: Sendable {
    /// What one call of a list's `hear` is about.
    private struct Turn {
        var id: ObjectIdentifier
        var list: any WatchedList
        var notices: [StorageNotice]
    }

    private struct State {
        var desk = NoticeDesk()
        var lists: [ObjectIdentifier: Known] = [:]
        var workers = 0
        var watch: StorageWatch?
        var listening: Task<Void, Never>?
    }

    private struct Known {
        weak var list: (any WatchedList)?
    }

    /// As many as read at a time in most storages: more of them would only wait for each other.
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

    /// Somebody listens to the list. One that follows already needs no call.
    func came(to list: some WatchedList) { call(list) { $0.came(to: ObjectIdentifier(list)) } }

    /// Nobody does any more.
    func left(_ list: some WatchedList) { call(list) { $0.left(ObjectIdentifier(list)) } }

    private func call(_ list: some WatchedList, _ change: (inout NoticeDesk) -> Void) {
        let missing = state.withLock { state in
            if state.lists[ObjectIdentifier(list)] == nil { state.lists[ObjectIdentifier(list)] = Known(list: list) }
            change(&state.desk)
            return Lookout.hire(&state)
        }
        begin(missing)
    }

    /// From when this returns, what happens to `query` is told to the list; nil: what may be the beginning of a list.
    /// It follows one at a time.
    func follow(_ query: QueryID?, _ list: some WatchedList) {
        let before = state.withLock { state in
            if state.lists[ObjectIdentifier(list)] == nil { state.lists[ObjectIdentifier(list)] = Known(list: list) }
            return state.desk.follow(query, ObjectIdentifier(list))
        }
        let watch = watch()
        watch.observe(query)
        ignore(before)
    }

    /// The list follows nothing any more; what it has not heard is forgotten.
    func stop(_ list: some WatchedList) { ignore(state.withLock { $0.desk.stop(ObjectIdentifier(list)) }) }

    /// The list is gone.
    func forget(_ id: ObjectIdentifier) {
        ignore(
            state.withLock { state in
                state.lists[id] = nil
                return state.desk.forget(id)
            })
    }

    private func ignore(_ place: NoticeDesk.Place?) {
        guard case .follows(let query) = place else { return }
        state.withLock { $0.watch }?.ignore(query)
    }

    // MARK: The storage

    /// Made when the first list follows something: a repository that nobody listens to has no task.
    private func watch() -> StorageWatch {
        if let watch = state.withLock({ $0.watch }) { return watch }
        let made = storage.watch()
        let (watch, isNew) = state.withLock { state in
            if let watch = state.watch { return (watch, false) }
            state.watch = made
            return (made, true)
        }
        guard isNew else { return watch }
        // Not with the priority of whoever happens to listen first.
        let listening = Task(executorPreference: executor, priority: .medium) { [weak self] in
            for await notice in made.notices { self?.told(notice) }
        }
        state.withLock { $0.listening = listening }
        return watch
    }

    private func told(_ notice: StorageNotice) {
        begin(
            state.withLock { state in
                state.desk.told(notice)
                return Lookout.hire(&state)
            })
    }

    // MARK: Turns

    /// How many tasks more there are to be.
    private static func hire(_ state: inout State) -> Int {
        let count = min(mostWorkers - state.workers, state.desk.turns)
        state.workers += count
        return count
    }

    private func begin(_ count: Int) {
        for _ in 0..<count { Task(executorPreference: executor, priority: .medium) { await self.work() } }
    }

    private func work() async {
        while let turn = next() {
            await turn.list.hear(turn.notices)
            state.withLock { $0.desk.ended(turn.id) }
        }
    }

    private func next() -> Turn? {
        state.withLock { state in
            while let (id, notices) = state.desk.next() {
                // One that is about to go does not hear any more.
                if let list = state.lists[id]?.list { return Turn(id: id, list: list, notices: notices) }
                state.desk.ended(id)
            }
            state.workers -= 1
            return nil
        }
    }
}
