#if PostgreSQL && canImport(Glibc)
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PostgresPageStore

/// A whole run, from the first message to the server to the last one, whose connection is lost at each of them.
extension ServerTests {
    private struct Entry: Codable, Identifiable, Sendable {
        var id: Int
    }

    private static let entries = (0..<25).map { Entry(id: $0) }

    private func sync(
        _ store: PostgreSQLPageStore, _ origin: ItemOrigin<Entry>,
        progress: @escaping @Sendable (SyncEvent) -> Void = { _ in }
    ) async throws(StorageError) -> SyncReport {
        var options = SyncOptions()
        options.concurrency = 1
        return try await ListSync(storage: store, source: origin, key: "list", options: options, jitter: { 0.5 })
            .run(progress: progress)
    }

    /// Checks that the store holds these positions, with the bytes of the origin.
    private func check(_ store: PostgreSQLPageStore, holds ranges: [Range<Int>], _ what: String) async throws {
        let query = try await store.query("list")
        guard let query, let window = try await store.window(of: query.id, 0..<ServerTests.entries.count) else {
            #expect(ranges.isEmpty, "\(what): the list is lost")
            return
        }
        for part in window.parts {
            let values = Array(ServerTests.entries[part.offset..<part.offset + part.content.count])
            #expect(part.content == PageContent(values: values), "\(what): wrong bytes")
        }
        for range in ranges {
            #expect(!window.missing.contains { $0.overlaps(range) }, "\(what): \(range) was stored and is lost")
        }
        #expect(try await store.verify().findings == [], "\(what)")
    }

    /// - Parameters:
    ///   - share: the part of the message that still reaches the server: it executes nothing of it, some statements, or all.
    ///   - staysAway: whether the server also accepts no new connection.
    @Test(
        "A run that loses its server at any message ends with a named outcome, keeps each stored page, and the next is exact",
        .timeLimit(.minutes(20)), arguments: [(0.0, false), (0.5, false), (1.0, false), (0.5, true), (1.0, true)])
    func lostInRun(share: Double, staysAway: Bool) async throws {
        var message = 0
        var isLost = true
        while isLost {
            message += 1
            try #require(message < 1_000)
            isLost = try await loseServer(at: message, share, staysAway)
        }
        print("runs that lost their server at one of \(message - 1) messages, \(share), \(staysAway)")
        #expect(message > 10)
    }

    /// - Returns: false where the run ended before so many messages.
    private func loseServer(at message: Int, _ share: Double, _ staysAway: Bool) async throws -> Bool {
        let what = "message \(message), \(share), \(staysAway)"
        let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
        defer { proxy.close() }
        proxy.cut(afterMessages: message, delivering: share, closes: staysAway)
        var options = PostgreSQLPageStore.Options()
        options.schema = "lost_\(Int(share * 10))_\(staysAway)_\(message)"
        options.connections = 1
        options.listensAtOnce = false
        options.busyBudget = .seconds(120)
        var impatient = options
        if staysAway { (impatient.busyBudget, impatient.timeLimit) = (.milliseconds(300), .milliseconds(300)) }

        let origin = ItemOrigin(ServerTests.entries, pageSize: 10)
        let stored = Mutex<[Range<Int>]>([])
        var outcome: SyncReport.Outcome?
        do throws(StorageError) {
            let store = try await PostgreSQLPageStore.open(
                "host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=disable", options: impatient)
            do throws(StorageError) {
                outcome = try await sync(store, origin) { event in
                    if case .stored(let range, _, _) = event { stored.withLock { $0.append(range) } }
                }.outcome
            } catch {
                await store.close()
                throw error
            }
            await store.close()
        } catch {
            #expect(staysAway && (error.code == .unavailable || error.code == .busy), "\(what): \(error)")
        }
        let isLost = !proxy.isCutDue
        let acknowledged = stored.withLock { $0 }
        if !staysAway {
            #expect(outcome == .complete, "\(what)")
            let targets = origin.requests.map(\.target)
            #expect(Set(targets).count == targets.count, "\(what): a page was fetched twice")
        }

        let direct = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        // As after the time of the owner that could not end its leases.
        _ = try await withPool { try await $0.run("DELETE FROM \(direct.options.schema).owner") }
        try await check(direct, holds: acknowledged, what)
        let before = origin.requests.count
        #expect(try await sync(direct, origin).outcome == .complete, "\(what)")
        for request in origin.requests[before...] {
            guard case .offset(let offset) = request.target, offset > 0 else { continue }
            #expect(!acknowledged.contains { $0.contains(offset) }, "\(what): a stored page was fetched again")
        }
        try await check(direct, holds: [0..<ServerTests.entries.count], what)
        await direct.close()
        _ = try await withPool { try await $0.run("DROP SCHEMA \(direct.options.schema) CASCADE") }
        return isLost
    }
}
#endif
