import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Leases (R30)")
struct LeaseTests {
    private let minute = noon + .seconds(60)

    @Test("a page in flight is granted to nobody else, neither in this process nor through another store")
    func exclusive() async throws {
        let bench = try await Bench()
        let other = try await PageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await bench.store.claim([0, 10], of: bench.query, until: minute, at: noon) == [0, 10])
        #expect(try await other.claim([10, 20, 0], of: bench.query, until: minute, at: noon) == [20])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [])
    }

    @Test("a lease ends with success, failure, release and forgetting")
    func endings() async throws {
        let bench = try await Bench()
        let endings: [(LeaseToken) -> LedgerEdit] = [
            { .succeeded(offset: 0, lease: $0) },
            { .failed(offset: 0, failure: .status(500), nextAttemptIn: nil, lease: $0) },
            { .released(offset: 0, lease: $0) }, { .forgotten(offset: 0, lease: $0) },
        ]
        for ending in endings {
            let lease = try #require(
                try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query).leases.first)
            #expect(try await bench.store.record([ending(lease.token)], for: bench.query) == [])
        }
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
    }

    @Test("an owner that is gone holds nothing: its leases are taken over at once")
    func deadOwner() async throws {
        let bench = try await Bench()
        let other = try await PageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await other.claim([0], of: bench.query, until: minute, at: noon) == [0])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [])
        // Closing drops the kernel lock, as the end of a process does, however it comes.
        await other.close()
        // A program that another test starts at this very moment has the lock's file until it is executed.
        var granted: [Int] = []
        for _ in 0..<10_000 where granted.isEmpty {
            granted = try await bench.store.claim([0], of: bench.query, until: minute, at: noon)
        }
        #expect(granted == [0])
        #expect(try await bench.list.ledger.first?.attempts == 2)
    }

    @Test("an owner that lives and does not end its lease loses it when it expires")
    func expiry() async throws {
        let bench = try await Bench()
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
        #expect(
            try await bench.store.claim([0], of: bench.query, until: minute + .seconds(60), at: minute + .seconds(-1))
                == [])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute + .seconds(60), at: minute) == [0])
    }

    @Test(
        "R31: a retry is due again when its lease ends, or is given up: whoever tries may die of it",
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

    @Test("a session reserves tokens in blocks, and no session gives a number of another")
    func tokens() async throws {
        let bench = try await Bench()
        let other = try await PageStore.open(at: bench.folder.store, mode: .mustExist, clock: bench.clock)
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
        #expect(try counted.number(value) == counter + CounterTable.block, "a claim writes no counter")
        await other.close()
    }

    @Test(
        "a counter that is lost, or says impossible things, begins elsewhere",
        arguments: ["DELETE FROM counter", "UPDATE counter SET value = -5"])
    func lostCounter(damage: String) async throws {
        let bench = try await Bench()
        let before = try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query).leases[0].token
        await bench.store.close()
        try Connection(path: bench.folder.store).execute(damage)
        let again = try await PageStore.open(at: bench.folder.store, mode: .mustExist, clock: bench.clock)
        let after = try await again.claim(LeaseRequest([10], for: .seconds(60)), of: bench.query).leases[0].token
        // By chance once in 2^41.
        #expect(abs(after.rawValue - before.rawValue) > CounterTable.block)
        await again.close()
    }

    @Test("the file of locks is private, and holds whose log lies beside the store and nothing else")
    func file() async throws {
        let bench = try await Bench()
        _ = try await bench.store.claim([0], of: bench.query, until: minute, at: noon)
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.folder.store + "-owners")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.size] as? Int == 32)
    }
}
