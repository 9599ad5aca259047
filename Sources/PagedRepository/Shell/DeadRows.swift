import PageModel

/// Records the number of dead rows of a storage on a server, at most once a minute. No decision uses the number, so an
/// error is ignored, and the number is read again a minute later.
struct DeadRows {
    private let storage: (any RowCounting)?
    private let gauge: Meters.Storage?
    private var readAt: Timestamp?

    private static let interval = Duration.seconds(60)

    init(_ storage: any PageStorage) {
        self.storage = storage as? any RowCounting
        gauge = self.storage.map { _ in Meters.Storage() }
    }

    mutating func record(at now: Timestamp) async {
        guard let storage, readAt.map({ now < $0 || now - $0 >= DeadRows.interval }) ?? true else { return }
        readAt = now
        guard let counts = try? await storage.rowCounts() else { return }
        gauge?.hasDeadRows(counts.reduce(0) { $0 + $1.dead })
    }
}
