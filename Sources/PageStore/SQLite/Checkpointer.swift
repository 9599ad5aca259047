import Dispatch
import PageModel
import Synchronization

/// Merges the write-ahead log into the file while commits go on (https://www.sqlite.org/wal.html#checkpointing).
///
/// SQLite's own way is that every so often the commit which finds the log long merges it, and waits for the disk twice. Here
/// another thread does, on a connection of its own, and holds up nobody. As long as somebody writes without a pause, the log cannot
/// begin anew, because there is always something in it that has not been merged. So once it is three times as long the thread
/// waits until the file, too, is on the disk, and the next commit merges what is left, which is little; the one after it begins
/// at the log's start, unless a reader is still in it: then later commits try again. A commit that finds it four times as long before that has
/// come about waits for the thread, merges what is left, and keeps others from committing until readers have left the log: where the
/// disk or the processors are slower than those who write, they are held up, and the log is not let grow. What keeps it long is a reader
/// that stands still in it: that one is waited for only so long (`Connection.endPatience`), and after each eighth that the log has grown.
///
/// State: how far the log had come when it was last merged, and what is being done about it, under a mutex; a connection, which is
/// the queue's.
final class Checkpointer: Sendable {
    private struct State {
        /// After the last commit.
        var size = 0
        var beganAt = 0
        var isUnderWay = false
        /// Nearly all of the log is in the file, and the file on the disk.
        var isAllButEnded = false
        /// When a commit last tried to merge what is left.
        var triedAt = 0
        var isClosed = false
        /// The file counts as open for as long as the connection may be.
        var place: OpenStore?
    }

    private let queue = DispatchQueue(label: "pagecache.checkpoint", qos: .utility)
    private let bytes: Int
    private let open: @Sendable () throws(StorageError) -> Connection
    private let state: Mutex<State>
    // Made when it is first needed: most processes never write so much.
    private nonisolated(unsafe) var connection: Connection?

    /// - Parameters:
    ///   - bytes: how long the log may become, in bytes of the database's pages.
    ///   - place: the store's; nil where there is no file.
    init(bytes: Int, place: OpenStore?, open: @escaping @Sendable () throws(StorageError) -> Connection) {
        self.bytes = bytes
        self.open = open
        state = Mutex(State(place: place))
    }

    // A store that is dropped, and not closed, while its log is merged: first the connection goes, then the place.
    deinit { connection = nil }

    private enum Step {
        case nothing
        /// - isLast: so that what is left can be merged by a commit.
        case begin(isLast: Bool)
        /// - patiently: waiting for whoever is at it, or in the way.
        case end(patiently: Bool)
    }

    /// To be called after each commit. Returns at once, unless the log is far too long and being merged.
    /// - Parameter size: of the pages in the log, in bytes.
    /// - Returns: what of it who has committed shall merge.
    func logHasGrown(to size: Int) -> Connection.LogEnd? {
        switch state.withLock({ nextStep(&$0, size) }) {
        case .nothing: return nil
        case .end(patiently: false): return .atOnce
        case .end(patiently: true):
            wait()
            return .patiently
        case .begin(let isLast):
            queue.async {
                let isMerged = self.merge(thoroughly: isLast)
                self.state.withLock { state in
                    state.isUnderWay = false
                    // Unless it has begun anew meanwhile.
                    state.isAllButEnded = isLast && isMerged && state.size >= 3 * self.bytes
                }
            }
            return nil
        }
    }

    private func nextStep(_ state: inout State, _ size: Int) -> Step {
        if size < state.size { (state.beganAt, state.triedAt, state.isAllButEnded) = (0, 0, false) }
        state.size = size
        let isTooLong = size >= 4 * bytes
        if isTooLong || state.isAllButEnded {
            // Each try waits for the disk with the log; and whoever was in the way of the last one may be still.
            guard size - state.triedAt >= (isTooLong ? size / 8 : bytes / 16) else { return .nothing }
            state.triedAt = size
            return .end(patiently: isTooLong)
        }
        guard !state.isUnderWay, !state.isClosed, size - state.beganAt >= bytes else { return .nothing }
        state.beganAt = size
        state.isUnderWay = true
        return .begin(isLast: size >= 3 * bytes)
    }

    /// Returns when nothing is being merged. Who keeps others from committing meanwhile has the log for itself.
    func wait() { queue.sync {} }

    /// Waits for what is under way, and begins nothing more.
    func close() {
        state.withLock { $0.isClosed = true }
        queue.sync { connection = nil }
        state.withLock { $0.place = nil }
    }

    /// - Parameter thoroughly: whether to wait for the disk with the file, too. SQLite does when it has merged all there is, and by then
    ///   has all of it to wait for.
    /// - Returns: whether nearly all was merged. What fails here leaves the log as it is, and who commits finds it long.
    private func merge(thoroughly: Bool) -> Bool {
        do {
            let connection = try connection ?? open()
            self.connection = connection
            return connection.mergeLog() && (!thoroughly || connection.syncFile())
        } catch {
            return false
        }
    }
}
