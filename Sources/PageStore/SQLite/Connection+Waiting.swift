import CSQLite
import PageModel

/// How long a statement waits for a lock, and when the current wait began.
struct LockWait {
    /// The longest wait of a statement. 0 means that the statement does not wait.
    var budget = Duration.zero
    /// The time of the first attempt of the current statement, in nanoseconds of the monotonic clock.
    fileprivate var began: UInt64 = 0
}

extension Connection {
    /// The longest time that a statement waits for a lock of another connection.
    var busyBudget: Duration { lockWait.budget }

    func setBusyBudget(_ duration: Duration) {
        lockWait.budget = max(.zero, duration)
        // SQLite calls this between two attempts (https://www.sqlite.org/c3ref/busy_handler.html).
        sqlite3_busy_handler(
            handle,
            { connection, attempt in
                // The handle is closed before the connection object is freed.
                connection.map {
                    Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue().pause(attempt: Int(attempt))
                } == true ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs `body` without waiting for locks of other connections.
    /// - Returns: the result of `body`, or `nil` when another connection holds a lock.
    func withoutWaiting<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value? {
        try waiting(atMost: .zero, body)
    }

    /// Runs `body`, and waits for locks of other connections no longer than `limit` and the busy budget allow.
    /// - Returns: the result of `body`, or `nil` when another connection still holds a lock.
    func waiting<Value>(
        atMost limit: Duration, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let budget = lockWait.budget
        lockWait.budget = min(limit, budget)
        defer { lockWait.budget = budget }
        do throws(StorageError) {
            return try body()
        } catch {
            guard error.code == .busy else { throw error }
            return nil
        }
    }

    /// Waits before the next attempt to take a lock.
    /// - Returns: `false` when the budget is spent.
    private func pause(attempt: Int) -> Bool {
        let now = Watchdog.now()
        if attempt == 0 { lockWait.began = now }
        guard Duration.nanoseconds(Int64(clamping: now &- lockWait.began)) < lockWait.budget else { return false }
        LockWaits.note(isFirst: attempt == 0)
        if let turns { turns.pause(attempt: attempt) } else { WriteTurns.pause(attempt: attempt) }
        return true
    }
}
