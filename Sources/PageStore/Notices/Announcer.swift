import PageModel
import Synchronization

/// Tells what was committed: observers in this process exactly, other processes that something was.
///
/// State: the file and the watch on it, opened when somebody first listens, counts or writes, under one mutex; the
/// table as it was seen last, under another, used by the watch's queue.
final class Announcer: Sendable {
    let hub = NoticeHub()
    private let store: String
    private let isReadOnly: Bool
    private let file = Mutex<FileState>(.unopened)
    private let seen = Mutex<[UInt64]>([])
    private let queries = Mutex<(@Sendable () -> [QueryID])?>(nil)

    private enum FileState {
        case unopened
        case open(NoticeFile, Watching)
        case missing
        case closed
    }

    private enum Watching {
        case notYet
        /// The kernel gives no more watches. Each new listener asks for one again; who only counts does not.
        case refused
        case on(NoticeWatch)
    }

    init(store: String, isReadOnly: Bool) {
        self.store = store
        self.isReadOnly = isReadOnly
    }

    /// Asked for the queries that there are, when another process has written.
    var knownQueries: (@Sendable () -> [QueryID])? {
        get { queries.withLock { $0 } }
        set { queries.withLock { $0 = newValue } }
    }

    func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        let stream = hub.notices(of: query)
        listen()
        return stream
    }

    /// Who is told of a query through it hears of other processes, too, from the moment of `observe` on.
    func watch() -> StorageWatch {
        let watch = hub.watch()
        return StorageWatch(
            notices: watch.notices,
            observe: { [weak self] query in
                watch.observe(query)
                self?.listen()
            },
            ignore: { watch.ignore($0) })
    }

    /// Nil unless every change is told: of other processes nothing is heard where the kernel gives no watch, or the
    /// file of notices cannot be.
    func changeCount(of query: QueryID) -> UInt64? {
        switch file.withLock({ $0 }) {
        case .open(_, .on): break
        case .unopened, .open(_, .notYet): guard listen() else { return nil }
        case .open(_, .refused), .missing, .closed: return nil
        }
        return hub.changeCount(of: query)
    }

    /// Call after the commit.
    func announce(_ sets: [ChangeSet]) {
        hub.publish(sets)
        opened()?.stamp(sets.lazy.map(\.query))
    }

    func close() {
        file.withLock { $0 = .closed }
        hub.close()
    }

    private func opened() -> NoticeFile? {
        file.withLock { state in
            switch state {
            case .open(let file, _): return file
            case .missing, .closed: return nil
            case .unopened:
                guard let file = NoticeFile(store: store, create: !isReadOnly) else {
                    state = .missing
                    return nil
                }
                state = .open(file, .notYet)
                return file
            }
        }
    }

    /// - Returns: whether every change is told from now on.
    @discardableResult
    private func listen() -> Bool {
        guard let file = opened() else { return false }
        let (isFirst, isOn) = self.file.withLock { state in
            switch state {
            case .open(_, .on): return (false, true)
            case .unopened, .missing, .closed: return (false, false)
            case .open(_, .notYet), .open(_, .refused): break
            }
            // First what is there, then the watch: what comes between is seen by the first look after it.
            seen.withLock { $0 = file.read() }
            let watch = NoticeWatch(path: file.path) { [weak self] in self?.look(file) }
            state = .open(file, watch.map { .on($0) } ?? .refused)
            return (true, watch != nil)
        }
        // The table is large, and listeners are many: later ones have the watch.
        if isFirst { look(file) }
        return isOn
    }

    private func look(_ file: NoticeFile) {
        let columns = seen.withLock { file.changes(since: &$0) }
        guard !columns.isEmpty else { return }
        let known = (knownQueries?() ?? []).filter { columns.contains(NoticeHub.column(of: $0)) }
        hub.publishElsewhere(known: known, columns: columns)
    }
}
