import PageModel
import PageStore
import PagedRepositoryTesting
import StorageSupport
import Testing

/// Three owners of one list. In SQLite each owner opens the file itself. In memory all share one storage.
private struct Owners {
    struct One {
        var storage: any PageStorage
        var owner: LeaseOwner
        var query: QueryID

        func claim(_ offset: Int) async throws -> LeaseToken? {
            try await storage.claim(LeaseRequest([offset], for: .seconds(30), by: owner), of: query).leases.first?.token
        }

        @discardableResult
        func record(_ edits: LedgerEdit...) async throws -> Set<LeaseToken> {
            try await storage.record(edits, for: query)
        }
    }

    let bench: Bench<any PageStorage>
    let a, b, c: One
    var clock: ManualClock { bench.clock }

    init(_ kind: StorageKind) async throws {
        bench = try await Bench(kind)
        var all: [One] = []
        for name in ["a", "b", "c"] {
            let storage = try await bench.another(kind)
            all.append(One(storage: storage, owner: LeaseOwner(name), query: bench.query))
        }
        (a, b, c) = (all[0], all[1], all[2])
    }

    var row: LedgerEntry? { get async throws { try await bench.list.ledger.first { $0.state == .inFlight } } }
    var ledger: [LedgerEntry] { get async throws { try await bench.list.ledger } }
}

/// A lease that another owner took over belongs to the new holder, whatever the old holder does (R30, G7).
@Suite("Leases with tokens")
struct FencingTests {
    private static let failure = FetchFailure(.timeout, "slept", isRetryable: true)

    private static let endings: [@Sendable (LeaseToken) -> LedgerEdit] = [
        { .succeeded(offset: 0, lease: $0) },
        { .failed(offset: 0, failure: failure, nextAttemptIn: .seconds(1), lease: $0) },
        { .released(offset: 0, lease: $0) }, { .deleted(offset: 0, lease: $0) },
    ]

    @Test(
        "An owner whose lease was taken over cannot change the page's ledger entry, and its call returns the lost token",
        arguments: StorageKind.allCases, 0..<4)
    func takenOver(kind: StorageKind, ending: Int) async throws {
        let owners = try await Owners(kind)
        let old = try #require(try await owners.a.claim(0))
        owners.clock.advance(by: .seconds(10))
        #expect(try await owners.b.claim(0) == nil)
        owners.clock.advance(by: .seconds(30))
        let new = try #require(try await owners.b.claim(0))
        let held = try await owners.ledger

        #expect(try await owners.a.record(FencingTests.endings[ending](old)) == [old])
        #expect(try await owners.ledger == held)
        #expect(try await owners.a.storage.heartbeat(owners.a.owner, for: .seconds(300)) == [])
        #expect(try await owners.ledger == held, "a heartbeat renews only the leases that the owner holds")
        owners.clock.advance(by: .seconds(2))
        #expect(try await owners.c.claim(0) == nil, "the new holder's lease is valid")

        #expect(try await owners.b.record(FencingTests.endings[ending](new)) == [])
        #expect(try await owners.c.claim(0) != nil)
    }

    @Test(
        "A commit under a lost lease stores its pages and keeps the holder's ledger entry (R4)",
        arguments: StorageKind.allCases)
    func storedAllTheSame(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        let old = try #require(try await owners.a.claim(0))
        owners.clock.advance(by: .seconds(40))
        let new = try #require(try await owners.b.claim(0))
        let held = try await owners.ledger
        let version = try await owners.bench.list.record.version
        let plan = CommitPlan(
            query: owners.bench.query, version: version,
            edits: [.insertPage(PageWrite(offset: 0, content: items(0..<10), evidence: .verified))],
            ledger: [.succeeded(offset: 0, lease: old)])
        let receipt = try await owners.a.storage.commit(plan, claiming: nil)
        #expect(receipt == CommitReceipt(.committed(version), lostLeases: [old]))
        #expect(try await owners.bench.list.pages.map(\.range) == [0..<10])
        #expect(try await owners.ledger == held)
        // The holder stores the same page, and ends its own lease.
        var same = plan
        same.ledger = [.succeeded(offset: 0, lease: new)]
        #expect(try await owners.b.storage.commit(same, claiming: nil) == CommitReceipt(.committed(version)))
        #expect(try await owners.ledger.map(\.state) == [.ok])
    }

    @Test(
        "An owner keeps an expired lease until another owner takes it over",
        arguments: StorageKind.allCases)
    func late(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        let token = try #require(try await owners.a.claim(0))
        owners.clock.advance(by: .seconds(40))
        #expect(try await owners.a.storage.heartbeat(owners.a.owner, for: .seconds(30)) == [token])
        #expect(try await owners.b.claim(0) == nil)
        owners.clock.advance(by: .seconds(40))
        #expect(try await owners.a.record(.succeeded(offset: 0, lease: token)) == [])
        #expect(try await owners.ledger.map(\.state) == [.ok])
    }

    @Test(
        "A heartbeat renews every lease of its owner in all lists, and no other lease", arguments: StorageKind.allCases
    )
    func heartbeat(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        let (storage, first) = (owners.a.storage, owners.bench.query)
        let second = try await storage.register("other").id
        func claim(_ offset: Int, _ owner: String, _ query: QueryID) async throws -> LeaseToken {
            try await storage.claim(LeaseRequest([offset], for: .seconds(30), by: LeaseOwner(owner)), of: query).leases[
                0
            ].token
        }
        let own = [try await claim(0, "x", first), try await claim(10, "x", first), try await claim(0, "x", second)]
        let other = try await claim(20, "y", first)
        try await storage.record([.succeeded(offset: 10, lease: own[1])], for: first)
        owners.clock.advance(by: .seconds(20))
        #expect(try await storage.heartbeat(LeaseOwner("x"), for: .seconds(30)) == [own[0], own[2]])
        #expect(try await storage.heartbeat(LeaseOwner("z"), for: .seconds(30)) == [])
        owners.clock.advance(by: .seconds(20))
        #expect(try await owners.c.claim(0) == nil)
        #expect(try await owners.c.claim(20) != nil, "this lease was not renewed")
        #expect(try await storage.record([.released(offset: 20, lease: other)], for: first) == [other])
        let ends = try await owners.ledger.filter { $0.offset == 0 }.map(\.leaseExpiresAt)
        #expect(ends == [noon + .seconds(50)])
    }

    @Test("A token finds its page after a shift has moved it", arguments: StorageKind.allCases)
    func shifted(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        for start in stride(from: 0, to: 60, by: 20) { try await owners.bench.put(start, items(start..<start + 20)) }
        let head = try #require(try await owners.a.claim(0))
        let token = try #require(try await owners.a.claim(40))
        let other = try #require(try await owners.a.claim(20))
        try await owners.bench.commit([
            .splice(0..<0, PageWrite(offset: 0, content: items(["new"]), evidence: .verified))
        ])
        #expect(
            try await owners.ledger.filter { $0.state == .inFlight }.map(\.offset) == [0, 21, 41],
            "the entry of page one keeps its position")
        #expect(try await owners.ledger.map(\.leaseToken) == [head, other, token])
        #expect(try await owners.b.claim(41) == nil)
        #expect(try await owners.a.storage.heartbeat(owners.a.owner, for: .seconds(60)) == [head, other, token])
        #expect(
            try await owners.a.record(
                .failed(offset: 40, failure: FencingTests.failure, nextAttemptIn: .zero, lease: token)) == [])
        #expect(try await owners.ledger.map(\.state) == [.inFlight, .inFlight, .failedRetryable])
        #expect(try await owners.ledger.map(\.offset) == [0, 21, 41])
        // Removed positions lose their leases.
        try await owners.bench.commit([.splice(15..<30, nil)])
        #expect(try await owners.a.record(.released(offset: 20, lease: other)) == [other])
        #expect(
            try await owners.a.record(.succeeded(offset: 0, lease: head)) == [],
            "the lease is for page one as such, and not for an item in it")
    }

    @Test(
        "A plan that moves or removes the ledger row of its own lease still ends the lease",
        arguments: StorageKind.allCases)
    func ownShift(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        for start in stride(from: 0, to: 60, by: 20) { try await owners.bench.put(start, items(start..<start + 20)) }
        let moved = try #require(try await owners.a.claim(20))
        let version = try await owners.bench.list.record.version
        let insert = CommitPlan(
            query: owners.bench.query, version: version,
            edits: [.splice(10..<10, PageWrite(offset: 10, content: items(["x", "y"]), evidence: .verified))],
            ledger: [.succeeded(offset: 20, lease: moved)])
        let receipt = try await owners.a.storage.commit(insert, claiming: nil)
        #expect(receipt.lostLeases.isEmpty)
        #expect(try await owners.ledger.map(\.offset) == [20], "the entry is at the offset that the plan names")
        #expect(try await owners.ledger.map(\.state) == [.ok])
        let gone = try #require(try await owners.a.claim(62))
        let truncate = CommitPlan(
            query: owners.bench.query, version: try await owners.bench.list.record.version, edits: [.truncate(at: 40)],
            ledger: [.deleted(offset: 62, lease: gone)])
        #expect(try await owners.a.storage.commit(truncate, claiming: nil).lostLeases.isEmpty)
        #expect(try await owners.row == nil)
    }

    @Test(
        "A ledger edit without a token skips a page in flight until its lease expires",
        arguments: StorageKind.allCases)
    func noToken(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        let edits: [LedgerEdit] = [
            .succeeded(offset: 0), .failed(offset: 0, failure: FencingTests.failure, nextAttemptIn: nil),
            .deleted(offset: 0),
        ]
        for edit in edits {
            let token = try #require(try await owners.a.claim(0))
            #expect(try await owners.b.record(edit) == [])
            #expect(try await owners.row?.leaseToken == token)
            owners.clock.advance(by: .seconds(30))
            #expect(try await owners.b.record(edit) == [])
            #expect(try await owners.row == nil)
            #expect(try await owners.a.record(.released(offset: 0, lease: token)) == [token])
        }
    }

    @Test(
        "Two edits of one call may use one token, although the first edit ends the lease",
        arguments: StorageKind.allCases)
    func twice(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        let token = try #require(try await owners.a.claim(30))
        let free = try #require(try await owners.b.claim(29))
        #expect(
            try await owners.a.record(
                .deleted(offset: 30, lease: token), .succeeded(offset: 28, lease: token),
                .succeeded(offset: 29, lease: token)) == [])
        #expect(try await owners.ledger.map(\.offset) == [28, 29])
        #expect(try await owners.row?.leaseToken == free, "a page in flight of another owner is skipped")
        #expect(
            try await owners.a.record(.deleted(offset: 30, lease: token), .succeeded(offset: 30, lease: token)) == [
                token
            ])
        #expect(try await owners.ledger.map(\.offset) == [28, 29])
    }

    @Test(
        "No lease token is issued twice, even after ledger entries are deleted or a query is purged",
        arguments: StorageKind.allCases)
    func neverTwice(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        var tokens: Set<LeaseToken> = []
        for round in 0..<5 {
            for one in [owners.a, owners.b, owners.c] {
                let token = try #require(try await one.claim(round))
                #expect(tokens.insert(token).inserted)
                try await one.record(.deleted(offset: round, lease: token))
            }
        }
        _ = try await owners.a.storage.purge([owners.bench.query])
        let again = try await owners.a.storage.register("again").id
        let token = try await owners.a.storage.claim(LeaseRequest([0], for: .seconds(30)), of: again).leases[0].token
        #expect(tokens.insert(token).inserted)
    }

    @Test(
        "A restart of the machine ends all earlier leases, whatever the uptime is",
        arguments: StorageKind.allCases)
    func reboot(kind: StorageKind) async throws {
        let owners = try await Owners(kind)
        let token = try #require(try await owners.a.claim(0))
        owners.clock.reboot()
        #expect(try await owners.row?.leaseExpiresAt == noon, "the lease is reported as expired")
        let new = try #require(try await owners.b.claim(0))
        #expect(try await owners.a.record(.succeeded(offset: 0, lease: token)) == [token])
        #expect(try await owners.row?.leaseToken == new)
    }

    @Test(
        "Setting the wall clock forward or back neither ends nor extends a lease (R52)",
        arguments: StorageKind.allCases, [3_600, -3_600])
    func wallClock(kind: StorageKind, seconds: Int) async throws {
        let clock = SetClock()
        let folder = Folder()
        let storage: any PageStorage =
            kind == .memory
            ? MemoryStorage(clock: clock) : try await SQLitePageStore.open(at: folder.store, clock: clock)
        let query = try await storage.register("list").id
        func claim(_ owner: String) async throws -> [Int] {
            try await storage.claim(LeaseRequest([0], for: .seconds(30), by: LeaseOwner(owner)), of: query).offsets
        }
        #expect(try await claim("a") == [0])
        clock.wall = clock.wall + .seconds(seconds)
        #expect(try await claim("b") == [])
        let entry = try await storage.outline(of: query)?.ledger.first
        #expect(entry?.leaseExpiresAt == clock.wall + .seconds(30), "the expiry follows the current wall clock")
        clock.seconds = 29
        #expect(try await claim("b") == [])
        clock.seconds = 30
        #expect(try await claim("b") == [0])
    }
}

/// A wall clock that is set while the machine keeps running.
private final class SetClock: StorageClock, @unchecked Sendable {
    // Only one task at a time uses the clock, including the storage's own tasks.
    var wall = noon
    var seconds: Int64 = 0

    func now() -> Timestamp { wall + .seconds(seconds) }
    func uptime() -> Uptime { Uptime(milliseconds: 5_000 + seconds * 1_000, boot: "boot") }
}
