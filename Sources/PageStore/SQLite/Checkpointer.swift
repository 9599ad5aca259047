import Dispatch
import PageModel
import Synchronization

/// Merges the write-ahead log into the file while commits go on (https://www.sqlite.org/wal.html#checkpointing).
///
/// SQLite's own way is that the commit which finds the log long merges it: every so often a commit waits for the disk twice. Here
/// another thread does, on a connection of its own, and holds up nobody. As long as somebody writes without a pause, the log cannot
/// begin anew, because there is always something in it that has not been merged; so a commit that finds it four times as long merges
/// what is left, which is little, and the next one begins at its start. That commit waits for the other thread, should it be at it:
/// where the disk or the processors are slower than those who write, they are held up, and the log is not let grow.
///
/// State: how far the log had come when it was last merged, and whether it is being, under a mutex; a connection, which is the
/// queue's.
final class Checkpointer: Sendable {
    private struct State {
        /// After the last commit.
        var size = 0
        var beganAt = 0
        var isUnderWay = false
        var isClosed = false
        /// The file counts as open for as long as the connection may be.
        var place: OpenStore?
    }

    private let queue = DispatchQueue(label: "pagecache.checkpoint", qos: .utility)
    private let pages: Int
    private let open: @Sendable () throws(StorageError) -> Connection
    private let state: Mutex<State>
    // Made when it is first needed: most processes never write so much.
    private nonisolated(unsafe) var connection: Connection?

    /// - Parameters:
    ///   - pages: how many pages of the database the log may have.
    ///   - place: the store's; nil where there is no file.
    init(pages: Int, place: OpenStore?, open: @escaping @Sendable () throws(StorageError) -> Connection) {
        self.pages = pages
        self.open = open
        state = Mutex(State(place: place))
    }

    // A store that is dropped, and not closed, while its log is merged: first the connection goes, then the place.
    deinit { connection = nil }

    /// To be called after each commit. Returns at once, unless the log is far too long and being merged.
    /// - Parameter size: how many pages the log has.
    /// - Returns: whether who has committed shall merge it.
    func logHasGrown(to size: Int) -> Bool {
        let begins = state.withLock { state in
            // It has begun anew.
            if size < state.size { state.beganAt = 0 }
            state.size = size
            guard size < 4 * pages, !state.isUnderWay, !state.isClosed, size - state.beganAt >= pages else { return false }
            state.beganAt = size
            state.isUnderWay = true
            return true
        }
        if begins {
            queue.async {
                self.merge()
                self.state.withLock { $0.isUnderWay = false }
            }
        }
        guard size >= 4 * pages else { return false }
        wait()
        return true
    }

    /// Returns when nothing is being merged. Who keeps others from committing meanwhile has the log for itself.
    func wait() { queue.sync {} }

    /// Waits for what is under way, and begins nothing more.
    func close() {
        state.withLock { $0.isClosed = true }
        queue.sync { connection = nil }
        state.withLock { $0.place = nil }
    }

    private func merge() {
        // What fails here leaves the log as it is, and who commits finds it long.
        do {
            let connection = try connection ?? open()
            self.connection = connection
            connection.mergeLog()
        } catch {}
    }
}
