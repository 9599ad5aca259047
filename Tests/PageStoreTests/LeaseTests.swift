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
        let other = try await PageStore.open(at: bench.folder.store, mode: .mustExist, now: noon)
        #expect(try await bench.store.claim([0, 10], of: bench.query, until: minute, at: noon) == [0, 10])
        #expect(try await other.claim([10, 20, 0], of: bench.query, until: minute, at: noon) == [20])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [])
    }

    @Test("a lease ends with success, failure and release")
    func endings() async throws {
        let bench = try await Bench()
        for ending in [
            LedgerEdit.succeeded(offset: 0), .failed(offset: 0, failure: .status(500), nextAttemptAt: nil), .released(offset: 0),
        ] {
            #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
            try await bench.store.record([ending], for: bench.query, at: noon)
        }
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
    }

    @Test("an owner that is gone holds nothing: its leases are taken over at once")
    func deadOwner() async throws {
        let bench = try await Bench()
        let other = try await PageStore.open(at: bench.folder.store, mode: .mustExist, now: noon)
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

    @Test("an owner that lives and does not end its lease loses it when it expires; so does one from another clock (R29)")
    func expiry() async throws {
        let bench = try await Bench()
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
        #expect(try await bench.store.claim([0], of: bench.query, until: minute + .seconds(60), at: minute) == [0])
        let lastYear = noon + .seconds(-365 * 86_400)
        #expect(try await bench.store.claim([0], of: bench.query, until: lastYear + .seconds(60), at: lastYear) == [0])
    }

    @Test("a lease that is renewed ends later; what is not in flight is not", arguments: StorageKind.allCases)
    func renewal(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
        let later = minute + .seconds(30)
        try await bench.store.record([.renewed(offset: 0, until: later), .renewed(offset: 9, until: later)], for: bench.query, at: noon)
        #expect(try await bench.store.claim([0], of: bench.query, until: minute + .seconds(60), at: minute) == [])
        #expect(try await bench.list.ledger.map(\.offset) == [0])
        #expect(try await bench.store.claim([0], of: bench.query, until: later + .seconds(60), at: later) == [0])
    }

    @Test("R31: a retry is due again when its lease ends, or is given up: whoever tries may die of it", arguments: StorageKind.allCases)
    func retryInFlight(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let failed = LedgerEdit.failed(offset: 0, failure: .status(503), nextAttemptAt: noon)
        try await bench.store.record([failed], for: bench.query, at: noon)
        #expect(try await bench.store.claim([0], of: bench.query, until: minute, at: noon) == [0])
        #expect(try await bench.store.due(before: minute + .seconds(-1), limit: 9).isEmpty)
        #expect(try await bench.store.due(before: minute, limit: 9).map(\.entry.offset) == [0])
        try await bench.store.record([.released(offset: 0)], for: bench.query, at: noon)
        #expect(try await bench.store.due(before: noon, limit: 9).map(\.entry.offset) == [0])
    }

    @Test("R4: positions move, leases do not: what was asked for is answered for the old ones", arguments: StorageKind.allCases)
    func moved(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        for start in [0, 10, 20] { try await bench.put(start, items(start..<start + 10)) }
        try await bench.store.record([.failed(offset: 20, failure: .status(503), nextAttemptAt: noon)], for: bench.query, at: noon)
        #expect(try await bench.store.claim([0, 10, 20], of: bench.query, until: minute, at: noon) == [0, 10, 20])
        try await bench.commit([.splice(0..<0, PageWrite(offset: 0, content: items(["new"]), evidence: .verified))])
        let ledger = try await bench.list.ledger
        #expect(ledger.map(\.offset) == [0, 21])
        #expect(ledger.map(\.state) == [.inFlight, .pending])
        #expect(ledger.last?.leaseOwner == nil && ledger.last?.failure?.httpStatus == 503)
    }

    @Test("the file of locks is private, and stays empty")
    func file() async throws {
        let bench = try await Bench()
        _ = try await bench.store.claim([0], of: bench.query, until: minute, at: noon)
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.folder.store + "-owners")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.size] as? Int == 0)
    }
}
