import PageModel
import Synchronization

/// Announces commits. Observers in this process receive the exact changes; other processes only learn which queries may
/// have changed.
///
/// State: the file of notices and its watch, under one mutex. The file is opened when a listener, a call of
/// `changeCount` or a commit first needs it. Another mutex guards the table as last read, which the watch's queue uses.
final class ChangeNotifier: Sendable {
    let hub = ChangeBroadcaster()
    private let store: String
    private let isReadOnly: Bool
    private let file = Mutex<FileState>(.unopened)
    private let seen = Mutex<[UInt64]>([])
    private let queries = Mutex<(@Sendable () -> [QueryID])?>(nil)

    private enum FileState {
        case unopened
        case open(CrossProcessSignal, Watching)
        case missing
        case closed
    }

    private enum Watching {
        case notYet
        /// The kernel grants no more watches. Each new listener tries again; `changeCount` does not.
        case refused
        case on(NoticeWatch)
    }

    init(store: String, isReadOnly: Bool) {
        self.store = store
        self.isReadOnly = isReadOnly
    }

    /// A closure that returns the ids of all queries. It is called after another process has written.
    var knownQueries: (@Sendable () -> [QueryID])? {
        get { queries.withLock { $0 } }
        set { queries.withLock { $0 = newValue } }
    }

    func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        let stream = hub.notices(of: query)
        listen()
        return stream
    }

    /// Returns a watch. Its stream also has notices of changes by other processes, for each query from the call of
    /// `subscribe` on.
    func watch() -> StorageWatch {
        let watch = hub.watch()
        return StorageWatch(
            notices: watch.notices,
            subscribe: { [weak self] query in
                watch.subscribe(query)
                self?.listen()
            },
            unsubscribe: { watch.unsubscribe($0) })
    }

    /// Returns the change counter of this query, see `ChangeBroadcaster.changeCount(of:)`. Returns nil if changes may
    /// be missed: the kernel grants no watch, the file of notices cannot be opened, or the store is closed.
    func changeCount(of query: QueryID) -> UInt64? {
        switch file.withLock({ $0 }) {
        case .open(_, .on): break
        case .unopened, .open(_, .notYet): guard listen() else { return nil }
        case .open(_, .refused), .missing, .closed: return nil
        }
        return hub.changeCount(of: query)
    }

    /// Announces the changes of a commit. Call after the commit.
    func announce(_ sets: [ChangeSet]) {
        hub.publish(sets)
        opened()?.stamp(sets.lazy.map(\.query))
    }

    func close() {
        file.withLock { $0 = .closed }
        hub.close()
    }

    private func opened() -> CrossProcessSignal? {
        file.withLock { state in
            switch state {
            case .open(let file, _): return file
            case .missing, .closed: return nil
            case .unopened:
                guard let file = CrossProcessSignal(store: store, create: !isReadOnly) else {
                    state = .missing
                    return nil
                }
                state = .open(file, .notYet)
                return file
            }
        }
    }

    /// Starts the watch on the file of notices, unless it is running.
    /// - Returns: whether every change is announced from now on.
    @discardableResult
    private func listen() -> Bool {
        guard let file = opened() else { return false }
        let (isFirst, isOn) = self.file.withLock { state in
            switch state {
            case .open(_, .on): return (false, true)
            case .unopened, .missing, .closed: return (false, false)
            case .open(_, .notYet), .open(_, .refused): break
            }
            // The table is read before the watch starts. The first look afterwards finds any write in between.
            seen.withLock { $0 = file.read() }
            let watch = NoticeWatch(path: file.path) { [weak self] in self?.look(file) }
            state = .open(file, watch.map { .on($0) } ?? .refused)
            return (true, watch != nil)
        }
        // Reading the table is expensive. Later listeners rely on the running watch.
        if isFirst { look(file) }
        return isOn
    }

    private func look(_ file: CrossProcessSignal) {
        let columns = seen.withLock { file.changes(since: &$0) }
        guard !columns.isEmpty else { return }
        let known = (knownQueries?() ?? []).filter { columns.contains(ChangeBroadcaster.column(of: $0)) }
        hub.publishElsewhere(known: known, columns: columns)
    }
}
