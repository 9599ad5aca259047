import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Leases (R30)")
struct LeaseTests {
    private let minute = noon + .seconds(60)

    @Test("A page in flight is granted to no other claimant, neither in this store nor in another one on the file")
    func exclusive() async throws {
        let bench = try await Bench()
        let other = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await bench.store.claim([0, 10], of: bench.query, until: minute, at: noon) == [0, 10])
        #expect(try await other.claim([10, 20, 0], of: bench.query, until: minute, at: noon) == [20])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [])
    }

    @Test("Success, failure, release and deletion of its ledger entry end a lease")
    func endings() async throws {
        let bench = try await Bench()
        let endings: [(LeaseToken) -> LedgerEdit] = [
            { .succeeded(offset: 0, lease: $0) },
            { .failed(offset: 0, failure: .status(500), nextAttemptIn: nil, lease: $0) },
            { .released(offset: 0, lease: $0) }, { .deleted(offset: 0, lease: $0) },
        ]
        for ending in endings {
            let lease = try #require(
                try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query).leases.first)
            #expect(try await bench.store.record([ending(lease.token)], for: bench.query) == [])
        }
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
    }

    @Test("Leases of an owner that has ended are granted to others at once")
    func deadOwner() async throws {
        let bench = try await Bench()
        let other = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await other.claim([0], of: bench.query, until: minute, at: noon) == [0])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [])
        let owners = Set(try await bench.list.ledger.compactMap(\.leaseOwner))
        #expect(owners.count == 1)
        #expect(bench.store.endedOwners(owners.union(["no owner"])) == [], "an owner that lives, and no owner")
        // Closing the store drops the kernel lock, as every end of a process does.
        await other.close()
        // A program that another test is starting right now inherits the lock's file until it calls `exec`.
        var granted: [Int] = []
        for _ in 0..<10_000 where granted.isEmpty {
            granted = try await bench.store.claim([0], of: bench.query, until: minute, at: noon)
        }
        #expect(granted == [0])
        #expect(bench.store.endedOwners(owners) == owners)
        #expect(try await bench.list.ledger.first?.attempts == 2)
    }

    @Test("A lease ends when it expires, although its owner is alive")
    func expiry() async throws {
        let bench = try await Bench()
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
        #expect(
            try await bench.store.claim([0], of: bench.query, until: minute + .seconds(60), at: minute + .seconds(-1))
                == [])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute + .seconds(60), at: minute) == [0])
    }

    @Test(
        "A retry is due again when its lease expires or is released, because its owner may have died (R31)",
        arguments: StorageKind.allCases)
    func retryInFlight(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let failed = LedgerEdit.failed(offset: 0, failure: .status(503), nextAttemptIn: .zero)
        try await bench.store.record([failed], for: bench.query, at: noon)
        let lease = try #require(
            try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query).leases.first)
        #expect(try await bench.store.due(before: minute + .seconds(-1), limit: 9).isEmpty)
        #expect(try await bench.store.due(before: minute, limit: 9).map(\.entry.offset) == [0])
        try await bench.store.record([.released(offset: 0, lease: lease.token)], for: bench.query, at: noon)
        #expect(try await bench.store.due(before: noon, limit: 9).map(\.entry.offset) == [0])
    }

    @Test("A session reserves lease tokens in blocks, and no two sessions issue the same token")
    func tokens() async throws {
        let bench = try await Bench()
        let other = try await SQLitePageStore.open(at: bench.folder.store, mode: .mustExist, clock: bench.clock)
        let counted = try Connection(path: bench.folder.store)
        let value = SQL("SELECT value FROM counter")
        let mine = try await bench.store.claim(LeaseRequest([0, 10], for: .seconds(60)), of: bench.query).leases.map(
            \.token)
        let counter = try #require(try counted.number(value))
        let theirs = try await other.claim(LeaseRequest([20], for: .seconds(60)), of: bench.query).leases.map(\.token)
        #expect(try counted.number(value) == counter + CounterTable.block)
        let again = try await bench.store.claim(LeaseRequest([30], for: .seconds(60)), of: bench.query).leases.map(
            \.token)
        #expect(Set(mine + theirs + again).count == 4)
        #expect(
            try counted.number(value) == counter + CounterTable.block,
            "a claim from a reserved block does not write the counter")
        await other.close()
    }

    @Test(
        "A token counter that is lost or impossible restarts at a distant value",
        arguments: ["DELETE FROM counter", "UPDATE counter SET value = -5"])
    func lostCounter(damage: String) async throws {
        let bench = try await Bench()
        let before = try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query).leases[0].token
        await bench.store.close()
        try Connection(path: bench.folder.store).execute(damage)
        let again = try await SQLitePageStore.open(at: bench.folder.store, mode: .mustExist, clock: bench.clock)
        let after = try await again.claim(LeaseRequest([10], for: .seconds(60)), of: bench.query).leases[0].token
        // This fails by chance once in 2^41 runs.
        #expect(abs(after.rawValue - before.rawValue) > CounterTable.block)
        await again.close()
    }

    @Test("The owners' file is private, and contains only the identity of the log's owner")
    func file() async throws {
        let bench = try await Bench()
        _ = try await bench.store.claim([0], of: bench.query, until: minute, at: noon)
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.folder.store + "-owners")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.size] as? Int == 32)
    }
}
