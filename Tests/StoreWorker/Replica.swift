#if PostgreSQL && canImport(Glibc)
import Glibc
import PageModel
import PostgresPageStore

/// One of several replicas on a server. It appends pages to a shared list, reads them back, and holds leases of a few
/// positions that all replicas want. It prints each step, so that the history of all replicas can be checked, also when a
/// replica was killed or stopped:
///
///     grant POSITION TOKEN TIME    after the grant has arrived
///     end POSITION TOKEN TIME      before the end of the lease is sent
///     lost POSITION TOKEN          the lease was taken over
///     stored NAME…                 these items are acknowledged
///     wrong TEXT                   a rule is broken
///
/// Times are nanoseconds of the machine's monotonic clock, which all processes share.
struct Replica {
    let store: PostgreSQLPageStore
    let name: String
    /// The lists whose positions all replicas want. Each has positions of its own, so that a position names its list.
    private static let contestedLists = 4
    private static let contestedPositions = 64
    /// The positions that one request asks for.
    private static let batch = 16
    /// The tasks of a replica that take leases.
    private static let holders = 2

    static func run(_ arguments: [String], seconds: Double) async throws {
        var options = PostgreSQLPageStore.Options()
        options.schema = String(cString: getenv("PAGECACHE_SCHEMA"))
        options.connections = 2
        options.busyBudget = .seconds(60)
        options.ownerLease = .seconds(5)
        if getenv("PAGECACHE_FULL") != nil { options.durability = .full }
        let clock: (any StorageClock)? = getenv("PAGECACHE_CALLERS_CLOCK") == nil ? nil : WallClock()
        let store = try await PostgreSQLPageStore.open(arguments[2], options: options, clock: clock)
        let replica = Replica(store: store, name: arguments[4])
        let query = try await store.register(QueryKey("shared")).id
        var contested: [QueryID] = []
        for number in 0..<contestedLists {
            contested.append(try await store.register(QueryKey("contested \(number)")).id)
        }
        // Sends the heartbeat, and then waits until all replicas have begun.
        try await replica.hold(0, contested[0])
        let latest = ContinuousClock.now + .seconds(300)
        let go = String(cString: getenv("PAGECACHE_GO"))
        while access(go, F_OK) != 0, ContinuousClock.now < latest { usleep(10_000) }
        let end = ContinuousClock.now + .seconds(seconds)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await replica.repeatedly(until: end, while: go) { round throws(StorageError) in
                    try await replica.append(to: query, round)
                    try await replica.check(query)
                }
            }
            for _ in 0..<holders {
                let lists = contested
                group.addTask {
                    await replica.repeatedly(until: end, while: go) { _ throws(StorageError) in
                        let number = Int.random(in: lists.indices)
                        try await replica.hold(number, lists[number])
                    }
                }
            }
        }
        await store.close()
    }

    /// - Parameter file: a file whose removal ends the work.
    private func repeatedly(
        until end: ContinuousClock.Instant, while file: String, _ body: (Int) async throws(StorageError) -> Void
    ) async {
        var round = 0
        while ContinuousClock.now < end, access(file, F_OK) == 0 {
            do throws(StorageError) {
                try await body(round)
            } catch {
                // The server was unreachable longer than the budget, or the outcome of a commit is unknown.
                guard error.code == .unavailable || error.code == .busy else {
                    return Replica.say("wrong \(error.code): \(error.message)")
                }
            }
            round += 1
        }
    }

    private func append(to query: QueryID, _ round: Int) async throws(StorageError) {
        guard let list = try await store.outline(of: query) else { return }
        let offset = list.coverage.headEnd
        guard let lease = try await claim([offset], query).first?.token else { return }
        let names = (0..<3).map { "\(name)-\(round)-\($0)" }
        let page = PageWrite(offset: offset, content: PageContent(names.map(Replica.item)), evidence: .inferred)
        let plan = CommitPlan(
            query: query, version: list.record.version, edits: [.insertPage(page)],
            ledger: [.succeeded(offset: offset, lease: lease)])
        Replica.say("end \(offset) \(lease.rawValue) \(Replica.time())")
        if case .committed = try await store.commit(plan) {
            return Replica.say("stored \(names.joined(separator: " "))")
        }
        try await store.record([.released(offset: offset, lease: lease)], for: query)
    }

    /// Expects that every item has the bytes of its name, and that the list has no gaps.
    private func check(_ query: QueryID) async throws(StorageError) {
        guard let list = try await store.outline(of: query) else { return }
        let length = list.coverage.headEnd
        let lower = max(0, Int.random(in: 0...length) - 30)
        guard let window = try await store.window(of: query, lower..<min(length, lower + 30)) else { return }
        if list.coverage.segments.count > 1 { Replica.say("wrong a gap in a list that only grows") }
        for part in window.parts {
            for item in part.content.items where item != Replica.item(item.id ?? "") {
                Replica.say("wrong bytes at \(part.offset)")
            }
        }
    }

    private func hold(_ number: Int, _ query: QueryID) async throws(StorageError) {
        let first = 1_000_000 + number * Replica.contestedPositions
        let wanted = Set((0..<Replica.batch).map { _ in first + Int.random(in: 0..<Replica.contestedPositions) })
        let leases = try await claim(wanted.sorted(), query)
        guard !leases.isEmpty else { return }
        // A fetch takes a while.
        try? await Task.sleep(for: .microseconds(Int.random(in: 0..<500)))
        let time = Replica.time()
        Replica.say(leases.map { "end \($0.offset) \($0.token.rawValue) \(time)" }.joined(separator: "\n"))
        let lost = try await store.record(leases.map { .released(offset: $0.offset, lease: $0.token) }, for: query)
        for lease in leases where lost.contains(lease.token) {
            Replica.say("lost \(lease.offset) \(lease.token.rawValue)")
        }
    }

    private func claim(_ offsets: [Int], _ query: QueryID) async throws(StorageError) -> [Lease] {
        let grant = try await store.claim(LeaseRequest(offsets, for: .seconds(5)), of: query)
        let time = Replica.time()
        guard !grant.leases.isEmpty else { return [] }
        Replica.say(grant.leases.map { "grant \($0.offset) \($0.token.rawValue) \(time)" }.joined(separator: "\n"))
        return grant.leases
    }

    static func item(_ name: String) -> RawItem {
        RawItem(payload: Array(String(repeating: name, count: 20).utf8), id: name)
    }

    /// Prints a line at once, so that it is not lost when the process is killed.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    }

    private static func time() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The wall clock of this machine, for elapsed time, too. The control of a test whose replicas have different clocks.
private struct WallClock: StorageClock {
    func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    func uptime() -> Uptime { Uptime(milliseconds: now().milliseconds, boot: "wall") }
}
#endif
