#if PostgreSQL
import PageModel
import Synchronization

/// Records the last attempt at a commit. If the connection is lost, `committed` uses the record to find out whether the
/// server has committed the attempt.
///
/// State: the record, behind a mutex.
final class CommitAttempt: Sendable {
    private struct Mark {
        var transaction: Int64?
        var isVersioned: Bool
        var changes: ChangeSet
        var moment: StorageMoment
    }

    private let mark = Mutex<Mark?>(nil)

    func note(transaction: Int64?, isVersioned: Bool, _ changes: ChangeSet, moment: StorageMoment) {
        mark.withLock {
            $0 = Mark(transaction: transaction, isVersioned: isVersioned, changes: changes, moment: moment)
        }
    }

    private static let status = SQL("SELECT pg_xact_status($1::text::xid8)")

    /// Returns the changes of the attempt if the server committed it. Returns nil if not.
    ///
    /// If the attempt gave the list a new version, a journal entry with the stamp of that version shows that it was
    /// committed. The entry also shows it after a failover, on another timeline of the server. Without a new version,
    /// the status of the transaction shows whether it was committed.
    func committed(
        _ query: QueryID, on server: Server
    ) async throws(StorageError) -> (changes: ChangeSet, moment: StorageMoment)? {
        guard let mark = mark.withLock({ $0 }) else { return nil }
        if let number = mark.transaction {
            // The server may still be running the COMMIT of the lost connection.
            for attempt in 0..<20 {
                let status: String?
                do throws(StorageError) {
                    status = try await server.read((CommitAttempt.status, [.text(String(number))])).first?.word(0)
                } catch {
                    // A server on another timeline does not know the number.
                    guard (error.cause as? PostgresError)?.code == .server else { throw error }
                    status = nil
                }
                if status == "aborted" { return nil }
                if status == "committed", !mark.isVersioned { return (mark.changes, mark.moment) }
                guard status == "in progress" else { break }
                try? await Task.sleep(for: .milliseconds(1 << min(attempt, 7)))
            }
        }
        guard mark.isVersioned, let version = mark.changes.contentVersion else { return nil }
        let rows = try await server.read(
            (JournalRow.has, [.integer(query.rawValue), .int(version.counter), .hash(version.stamp)]))
        return rows.count > 0 ? (mark.changes, mark.moment) : nil
    }
}
#endif
