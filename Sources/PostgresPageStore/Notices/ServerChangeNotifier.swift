#if PostgreSQL
import PageModel
import Synchronization

/// Announces commits. Observers of this object receive the exact changes. Other replicas only learn which columns of
/// queries may have changed (R41). A column is one of 256 groups of queries (`ChangeBroadcaster.columns`).
///
/// A NOTIFY inside a commit takes a lock of the whole server. Therefore one task sends the columns after the commits,
/// at most every 15 ms. A notice contains no changes: its receivers read the lists of these columns again. A replica
/// can end between a commit and its notice. Therefore an object with observers also compares the versions of all lists,
/// every ten poll intervals (`Models/notices.pml`). Where the server delivers no notices, as behind a pooler in
/// transaction mode, it compares them at each poll interval.
///
/// State: the columns to send, the tasks, and whether notices arrive, behind one mutex. The tasks start with the first
/// listener or commit, and end with the object or `close`.
final class ServerChangeNotifier: Sendable {
    let hub = ChangeBroadcaster()
    private let server: Server
    private let isReadOnly: Bool
    /// The name of the channel of notices, which all replicas of the store share.
    let channel: String
    private let pollInterval: Duration
    /// Called with the columns of each notice from another replica.
    private let onNotice: @Sendable (Set<Int>) -> Void
    /// The name of this object in its notices. The object ignores notices with its own name, except tests of the
    /// channel.
    private let name = String(UInt64.random(in: .min ... .max), radix: 36)
    private let state = Mutex(State())

    private struct State {
        var columns: Set<Int> = []
        var sender: Task<Void, Never>?
        var listener: Task<Void, Never>?
        /// Whether the latest test of the channel has come back as a notice.
        var isDelivered = false
        var isClosed = false
    }

    /// The shortest time between two notices of this object. The first notice after a longer time is sent at once.
    private static let pause = Duration.milliseconds(15)

    init(
        _ server: Server, channel: String, isReadOnly: Bool, pollInterval: Duration,
        onNotice: @escaping @Sendable (Set<Int>) -> Void = { _ in }
    ) {
        self.onNotice = onNotice
        self.server = server
        self.channel = channel
        self.isReadOnly = isReadOnly
        self.pollInterval = max(pollInterval, .milliseconds(10))
    }

    deinit {
        state.withLock { state in
            state.sender?.cancel()
            state.listener?.cancel()
        }
    }

    func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        let stream = hub.notices(of: query)
        listen()
        return stream
    }

    /// Returns a watch. Its observers also receive changes of other replicas, from the moment of `subscribe` on.
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

    /// Returns a number that changes with each change of the query. Returns nil unless the server delivers notices,
    /// because changes of other replicas are not counted without them.
    func changeCount(of query: QueryID) -> UInt64? {
        listen()
        return state.withLock { $0.isDelivered && !$0.isClosed } ? hub.changeCount(of: query) : nil
    }

    /// Begins to listen, and waits until the test of the channel has succeeded, for `limit` at most.
    func start(for limit: Duration) async {
        listen()
        let end = ContinuousClock.now + limit
        while !state.withLock({ $0.isDelivered || $0.isClosed }), ContinuousClock.now < end {
            do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
        }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.sender?.cancel()
            state.listener?.cancel()
            (state.sender, state.listener) = (nil, nil)
        }
        hub.close()
    }

    // MARK: Sending

    /// Announces the changes of commits. Call after the commit.
    func announce(_ sets: [ChangeSet]) {
        guard !sets.isEmpty else { return }
        hub.publish(sets)
        announce(columns: Set(sets.map { ChangeBroadcaster.column(of: $0.query) }))
    }

    /// Announces that these lists may have changed in any way.
    func announceInvalidated(_ queries: [QueryID]) {
        let columns = Set(queries.map { ChangeBroadcaster.column(of: $0) })
        hub.publishElsewhere(known: queries, columns: columns)
        announce(columns: columns)
    }

    private func announce(columns: Set<Int>) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.columns.formUnion(columns)
            guard state.sender == nil else { return }
            state.sender = Task { [weak self] in
                while !Task.isCancelled, let columns = self?.take() {
                    await self?.send(columns)
                    try? await Task.sleep(for: ServerChangeNotifier.pause)
                }
            }
        }
    }

    /// Returns the columns to send, and removes them from the state. Returns nil and ends the sender when there are
    /// none.
    private func take() -> Set<Int>? {
        state.withLock { state in
            guard !state.columns.isEmpty else {
                state.sender = nil
                return nil
            }
            defer { state.columns = [] }
            return state.columns
        }
    }

    private static let notify = SQL("SELECT pg_notify($1, $2)")

    private func send(_ columns: Set<Int>) async {
        let payload = "\(name) \(ServerChangeNotifier.mask(of: columns))"
        // Polling finds a change whose notice was lost, so an error here has no consequence.
        _ = try? await server.write([(ServerChangeNotifier.notify, [.text(channel), .text(payload)])])
    }

    /// Returns 64 hexadecimal digits with one bit for each column.
    static func mask(of columns: Set<Int>) -> String {
        String(
            (0..<ChangeBroadcaster.columns / 4).map { digit in
                let bits = (0..<4).reduce(0) { $0 | (columns.contains(digit * 4 + $1) ? 1 << $1 : 0) }
                return Character(String(bits, radix: 16))
            })
    }

    static func columns(in mask: some StringProtocol) -> Set<Int> {
        var columns: Set<Int> = []
        for (digit, letter) in mask.enumerated() {
            guard let bits = letter.hexDigitValue else { continue }
            for bit in 0..<4 where bits & (1 << bit) != 0 { columns.insert(digit * 4 + bit) }
        }
        return columns.filter { $0 < ChangeBroadcaster.columns }
    }

    // MARK: Receiving

    private func listen() {
        state.withLock { state in
            guard state.listener == nil, !state.isClosed else { return }
            state.listener = Task { [weak self, server, channel, pollInterval] in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { [weak self] in
                        for await event in server.listen(channel) { await self?.received(event) }
                    }
                    group.addTask { [weak self] in
                        var known: [QueryID: ContentVersion]?
                        var pauses = 0
                        while !Task.isCancelled {
                            guard let self else { return }
                            if known == nil || pauses >= self.pausesBetweenPolls {
                                known = await self.poll(since: known)
                                pauses = 0
                            }
                            do { try await Task.sleep(for: pollInterval) } catch { return }
                            pauses += 1
                        }
                    }
                }
            }
        }
    }

    private func received(_ event: Notification) async {
        switch event {
        case .listening, .reconnected:
            // This object tests the channel with a notice that it receives itself. It also notifies observers to read
            // again, because earlier notices may have been missed.
            state.withLock { $0.isDelivered = false }
            let test = "\(name) test"
            _ = try? await server.write([(ServerChangeNotifier.notify, [.text(channel), .text(test)])])
            if event == .reconnected || hub.hasObservers { await publish(Set(0..<ChangeBroadcaster.columns)) }
        case .payload(let payload):
            let parts = payload.split(separator: " ")
            guard parts.count == 2 else { return }
            guard parts[0] != name else {
                if parts[1] == "test" { state.withLock { $0.isDelivered = true } }
                return
            }
            guard parts[1] != "test" else { return }
            let columns = ServerChangeNotifier.columns(in: parts[1])
            // Counted before `publish` reads the ids from the server, so that meanwhile no read trusts the local copy.
            hub.countChanges(in: columns)
            onNotice(columns)
            await publish(columns)
        }
    }

    private func publish(_ columns: Set<Int>) async {
        guard !columns.isEmpty, hub.hasObservers || columns.count < ChangeBroadcaster.columns else {
            return hub.publishElsewhere(known: [], columns: columns)
        }
        let known = (try? await server.read((PostgreSQLPageStore.everyID, []))).map { rows in
            rows.all.map { QueryID(rawValue: $0.int64(0)) }.filter {
                columns.contains(ChangeBroadcaster.column(of: $0))
            }
        }
        hub.publishElsewhere(known: known ?? [], columns: columns)
    }

    private static let versions = SQL("SELECT id, counter, stamp FROM @query")

    private var pausesBetweenPolls: Int { state.withLock { $0.isDelivered } ? 10 : 1 }

    /// Compares the versions of all lists with `known`, and notifies the observers of lists whose versions differ. A
    /// change of fetch records alone makes no new version, so it is not found.
    /// - Returns: the versions now, or `known` if the read fails; `nil` without observers.
    private func poll(since known: [QueryID: ContentVersion]?) async -> [QueryID: ContentVersion]? {
        guard hub.hasObservers else { return nil }
        guard let rows = try? await server.read((ServerChangeNotifier.versions, [])) else { return known }
        var versions: [QueryID: ContentVersion] = [:]
        for row in rows.all {
            versions[QueryID(rawValue: row.int64(0))] = ContentVersion(counter: row.int(1), stamp: row.hash(2))
        }
        guard let known else { return versions }
        let changed = Set(versions.keys).union(known.keys).filter { versions[$0] != known[$0] }
        if !changed.isEmpty {
            let columns = Set(changed.map { ChangeBroadcaster.column(of: $0) })
            hub.publishElsewhere(known: changed.filter { versions[$0] != nil }, columns: columns)
        }
        return versions
    }
}
#endif
