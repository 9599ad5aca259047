#if PostgreSQL && Tool && canImport(Glibc)
import Foundation
import Glibc
import PageModel
import ProgramSupport
import StorageSupport
import Testing

@testable import PostgresPageStore

/// Eight processes on one server, and what happens to them and to the server. The histories of all processes are checked:
/// no acknowledged page is lost, no page is stored twice, and no position has two holders (G7).
///
/// The first test goes on until the server has noted 10^5 changes of leases, a minute or so; the others take half a minute
/// each. PAGECACHE_SOAK=1 makes all of them ten times as long.
@Suite("A fleet", .serialized, .ownServer, .enabled(if: OwnServer.isPossible, OwnServer.isImpossible))
struct FleetTests {
    private static let worker = Program.built("StoreWorker")
    private static let seconds: Double = Soak.isOn ? 240 : 20
    /// The grants, ends and stored pages of the first test.
    private static let goal = Soak.isOn ? 1_000_000 : 100_000
    private let schema = "fleet_" + UUID().uuidString.lowercased().filter { $0 != "-" }
    /// Replicas that have opened the store wait for this file.
    private var go: String { "/tmp/\(schema)" }

    private struct Member {
        let program: Program
        var killedAt: Int64?
    }

    private func start(
        _ count: Int, for seconds: Double = FleetTests.seconds, at address: String = OwnServer.connectionString,
        full: Bool = false, with more: (Int) -> [String: String] = { _ in [:] }
    ) async throws -> [Member] {
        var environment = ProcessInfo.processInfo.environment
        environment["PAGECACHE_SCHEMA"] = schema
        environment["PAGECACHE_GO"] = go
        if full { environment["PAGECACHE_FULL"] = "1" }
        var members: [Member] = []
        for number in 0..<count {
            let arguments = ["replica", address, "\(seconds)", "r\(number)"]
            let variables = environment.merging(more(number)) { _, new in new }
            members.append(
                Member(program: try await Program(FleetTests.worker, arguments, environment: variables)))
        }
        return members
    }

    private func open(
        at address: String = OwnServer.connectionString, mode: PostgreSQLPageStore.Mode = .createIfMissing
    ) async throws -> PostgreSQLPageStore {
        var options = PostgreSQLPageStore.Options()
        options.schema = schema
        options.busyBudget = .seconds(60)
        return try await PostgreSQLPageStore.open(address, mode: mode, options: options)
    }

    private func history(_ members: [Member]) async throws -> History {
        defer { unlink(go) }
        var history = History()
        for member in members {
            let ended = try await member.program.ended()
            if member.killedAt == nil { #expect(ended.status == 0, "\(ended.output.suffix(300)) \(ended.errors)") }
            history.add(ended.output, killedAt: member.killedAt)
        }
        return history
    }

    /// Lets the replicas work for a while.
    private func pause(_ seconds: Double) async throws { try await withPool { try await $0.pause(seconds) } }

    /// The items of the shared list, each checked against its name.
    private func held(
        at address: String = OwnServer.connectionString, mayHaveGaps: Bool = false
    ) async throws -> [String] {
        let store = try await open(at: address)
        let query = try #require(try await store.query(QueryKey("shared")))
        let outline = try #require(try await store.outline(of: query.id))
        let end = outline.coverage.segments.last?.upperBound ?? 0
        let window = try #require(try await store.window(of: query.id, 0..<end))
        #expect(window.missing.isEmpty || mayHaveGaps)
        #expect(try await store.verify().findings == [])
        await store.close()
        return window.parts.flatMap { $0.content.ids.compactMap { $0 } }
    }

    private static func time() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func noted(_ trace: ServerTrace) async throws -> Int { try await withPool { try await trace.count($0) } }

    @Test("Replicas that are killed, and stopped beyond their leases, lose no page and hold no position twice")
    func killedAndStopped() async throws {
        // The first store creates the schema.
        await (try await open()).close()
        // A machine that is ten times as slow as a usual one reaches the goal, too.
        let limit = Double(FleetTests.goal) / 50
        var members = try await start(8, for: limit)
        // A store with a trigger is refused, so that the notes begin once all replicas have opened it.
        try await withPool { try await $0.wait(for: "SELECT count(*) >= 8 FROM \(schema).owner") }
        let trace = ServerTrace(schema: schema)
        try await withPool { try await trace.begin($0) }
        try Data().write(to: URL(fileURLWithPath: go))
        let began = ContinuousClock.now
        var victims = 0
        // Each grant and each end is a change of one lease, besides the stored pages.
        while try await noted(trace) < FleetTests.goal,
            ContinuousClock.now - began < .seconds(limit - 10)
        {
            try await pause(0.7)
            if victims < 4 {
                members[victims].program.signal(SIGKILL)
                members[victims].killedAt = FleetTests.time()
                victims += 1
            }
            // Beyond the lease and the heartbeat, both of 5 seconds.
            members[5].program.signal(SIGSTOP)
            try await pause(5.5)
            members[5].program.signal(SIGCONT)
        }
        unlink(go)
        let history = try await history(members)
        #expect(history.violations == [])
        #expect(history.overlaps == [])
        let notes = try await withPool { try await trace.end($0) }
        let steps = notes.steps(ended: history.ended)
        // The time of a lease also passes while its holder waits for a busy machine.
        #expect(history.lost.subtracting(notes.expired) == [], "a lease was taken over before its time")
        for isControl in [false, true] {
            let replay = try await ServerTrace.replay(steps, isControl: isControl)
            // 69: a program is missing that `make test` installs.
            #expect(replay.status == 0 || replay.status == 69, "\(replay.errors)")
            print("fleet: \(replay.output)\(replay.status == 69 ? replay.errors : "")", terminator: "")
        }
        let held = try await held()
        #expect(held.count == Set(held).count, "an item is held twice")
        #expect(history.stored.subtracting(held) == [], "acknowledged items are missing")
        let seconds = (ContinuousClock.now - began).components.seconds
        print("fleet: \(history.steps) steps, \(held.count) items, \(seconds) s with their checks")
        // The steps of replicas that were killed in the middle are not all known.
        #expect(history.steps > FleetTests.goal * 9 / 10)
    }

    @Test("Control: leases that are ended by position, without a token, are noticed")
    func control() async throws {
        await (try await open()).close()
        try Data().write(to: URL(fileURLWithPath: go))
        let members = try await start(4, for: 600)
        let latest = ContinuousClock.now + .seconds(300)
        try await withPool { pool in
            try await pool.wait(for: "SELECT count(*) >= 4 FROM \(schema).owner")
            // An edit that finds its row by position alone ends the lease of another replica.
            var ended = 0
            while ended < 100, ContinuousClock.now < latest {
                // A deadlock with a replica ends one of the two.
                let rows = try? await pool.run(
                    """
                    UPDATE \(schema).ledger SET state = 'pending', lease_token = NULL, lease_process = NULL,
                        lease_name = NULL, lease_until = NULL, lease_boot = NULL
                    WHERE start >= \(1_000_000) AND lease_token IS NOT NULL
                    """)
                ended += rows?.affected ?? 0
                try await pool.pause(0.002)
            }
        }
        // Without the file the replicas end their work.
        unlink(go)
        let history = try await history(members)
        #expect(!history.lost.isEmpty)
    }

    /// - Parameter isControl: whether the replicas use the clocks of their machines, so that they have to take over
    ///   leases that still count.
    @Test(
        "Replicas whose clocks are hours apart take over no lease before its time: the server's clock decides (R52)",
        arguments: [false, true])
    func clocks(isControl: Bool) async throws {
        // Changes the wall clock of a program, and not its elapsed time.
        let shim = "/tmp/\(schema).so"
        defer { unlink(shim) }
        let source = OwnServer.script.dropLast("postgres".count) + "campaign-rows/shim.c"
        let built = try await Program.run(
            "/usr/bin/env", ["cc", "-shared", "-fPIC", "-O1", "-o", shim, String(source), "-ldl"])
        try #require(built.status == 0, "\(built.errors)")
        await (try await open()).close()
        let members = try await start(4) { number in
            var more = ["LD_PRELOAD": shim, "SHIM_UNDER": "/nowhere", "SHIM_CLOCK": "\((number - 1) * 3_600)"]
            if isControl { more["PAGECACHE_CALLERS_CLOCK"] = "1" }
            return more
        }
        try await withPool { try await $0.wait(for: "SELECT count(*) >= 4 FROM \(schema).owner") }
        let trace = ServerTrace(schema: schema)
        try await withPool { try await trace.begin($0) }
        try Data().write(to: URL(fileURLWithPath: go))
        let history = try await history(members)
        let notes = try await withPool { try await trace.end($0) }
        let early = history.lost.subtracting(notes.expired)
        print("fleet, clocks\(isControl ? " (control)" : ""): \(history.steps) steps, \(early.count) taken too early")
        #expect(history.steps > 0)
        guard !isControl else {
            #expect(!early.isEmpty)
            return
        }
        #expect(early == [])
        #expect(history.violations == [])
        #expect(history.overlaps == [])
    }

    @Test("A server that restarts and crashes under commits that are flushed loses no acknowledged page")
    func restarts() async throws {
        await (try await open()).close()
        try Data().write(to: URL(fileURLWithPath: go))
        let members = try await start(4, full: true)
        for mode in ["fast", "immediate", "immediate"] {
            try await pause(FleetTests.seconds / 5)
            #expect(await OwnServer.end(of: try OwnServer.beginRestart(mode)) == 0)
        }
        let history = try await history(members)
        #expect(history.violations == [])
        #expect(history.overlaps == [])
        let held = try await held()
        #expect(held.count == Set(held).count)
        #expect(history.stored.subtracting(held) == [])
        print("fleet, restarts: \(history.steps) steps, \(held.count) items")
    }

    /// - Parameter isSynchronous: whether a commit waits for the standby. Without that the newest commits may be lost,
    ///   and nothing else.
    @Test(
        "A standby that is promoted has every acknowledged page, or without synchronous replication all but the newest",
        arguments: [true, false])
    func failover(isSynchronous: Bool) async throws {
        let primary = try #require(OwnServer.directory)
        let standby = "/tmp/pagecache-" + UUID().uuidString.prefix(8)
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["standby", standby, primary])) == 0)
        let variables = try OwnServer.variables(in: standby + "/env")
        let other = try #require(variables["PAGECACHE_TEST_POSTGRES"])
        let port = other.split(separator: ":").last!.split(separator: "/")[0]
        let both =
            "postgres://pagecache@127.0.0.1:\(OwnServer.port),127.0.0.1:\(port)/pagecache?target_session_attrs=read-write"
        if isSynchronous {
            try await withPool { pool in
                try await pool.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
                try await pool.run("SELECT pg_reload_conf()")
            }
        }
        await (try await open(at: both)).close()
        try Data().write(to: URL(fileURLWithPath: go))
        let members = try await start(4, at: both, full: isSynchronous)
        try await pause(FleetTests.seconds / 3)
        let reader = try await open(at: other, mode: .readOnly)
        #expect(try await reader.writeObstacle()?.contains("standby") == true)
        await reader.close()
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["crash", primary])) == 0)
        let crashedAt = FleetTests.time()
        // Without a checkpoint: the new timeline is not in the control file yet.
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["promote", standby])) == 0)
        if isSynchronous {
            try await withPool(other) { pool in
                try await pool.run("ALTER SYSTEM SET synchronous_standby_names = ''")
                try await pool.run("SELECT pg_reload_conf()")
            }
        }
        var history = try await history(members)
        // A replica that read the list before the failover appends after positions that are lost.
        if !isSynchronous { history.forgive { $0.contains("a gap") } }
        let held = try await held(at: both, mayHaveGaps: !isSynchronous)
        #expect(held.count == Set(held).count)
        #expect(history.violations == [])
        let missing = history.stored.subtracting(held)
        if isSynchronous {
            #expect(missing == [])
            #expect(history.overlaps == [])
        }
        print(
            "fleet, failover: \(history.steps) steps, \(held.count) items, \(missing.count) lost, crash at \(crashedAt)"
        )
        #expect(!history.stored.isEmpty)
        // The suite's server serves the next test again.
        _ = await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["stop", standby]))
        try FileManager.default.removeItem(atPath: standby)
        _ = await OwnServer.end(of: try OwnServer.beginRestart("fast"))
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM RESET synchronous_standby_names")
            try await pool.run("SELECT pg_reload_conf()")
        }
    }
}
#endif
