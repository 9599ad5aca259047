import PageModel
import PageStore
import PagedRepositoryTesting
import StorageSupport
import Testing

@Suite("Leases that are claimed with a commit")
struct CommitLeaseTests {
    private let minute = noon + .seconds(60)

    private func page(_ offset: Int, _ range: Range<Int>) -> [ListEdit] {
        [.insertPage(PageWrite(offset: offset, content: items(range), evidence: .inferred))]
    }

    @Test(
        "One transaction stores a page and leases the next, and observers receive one change (R30)",
        arguments: StorageKind.allCases)
    func both(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let lease = try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query, at: noon).leases[
            0]
        var told = bench.store.notices(of: bench.query).makeAsyncIterator()
        let version = try await bench.list.record.version
        let plan = CommitPlan(
            query: bench.query, version: version, edits: page(0, 0..<10),
            ledger: [.succeeded(offset: 0, lease: lease.token)])
        let receipt = try await bench.store.commit(plan, claiming: LeaseRequest([10, 20], for: .seconds(60)))
        #expect(receipt.outcome == .committed(version) && receipt.lostLeases.isEmpty)
        #expect(receipt.grant?.offsets == [10, 20])
        #expect(Set(receipt.grant?.leases.map(\.token) ?? []).union([lease.token]).count == 3, "all tokens differ")
        let ledger = try await bench.list.ledger
        #expect(ledger.map(\.state) == [.ok, .inFlight, .inFlight])
        #expect(ledger.map(\.leaseExpiresAt) == [nil, minute, minute])
        #expect(ledger.map(\.attempts) == [1, 1, 1])
        guard case .changed(let set) = await told.next(isolation: #isolation) else {
            return #expect(Bool(false), "no change was notified")
        }
        #expect(set.changes.filter { if case .ledger = $0 { true } else { false } } == [.ledger([0, 10, 20])])
    }

    @Test("A refused plan takes no lease (R4, R5, R30)", arguments: StorageKind.allCases)
    func refused(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<10))
        let version = try await bench.list.record.version
        let request = LeaseRequest([10], for: .seconds(60), includingOutline: 0..<20)
        let repeated = CommitPlan(query: bench.query, version: version, edits: page(10, 5..<15))
        #expect(try await bench.store.commit(repeated, claiming: request) == CommitReceipt(.duplicates([0..<10])))
        let stale = CommitPlan(
            query: bench.query, version: ListVersion(generation: 1, revision: 7), edits: page(10, 10..<20))
        #expect(try await bench.store.commit(stale, claiming: request) == CommitReceipt(.superseded(version)))
        #expect(try await bench.list.ledger.isEmpty)
    }

    @Test(
        "A plan that requires a page changes nothing when that page has other items or is gone, even if no position moved (R21)",
        arguments: StorageKind.allCases)
    func precondition(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        // A page of 20 items is long enough not to be joined (R17).
        try await bench.put(0, items(0..<20))
        let before = try await bench.list
        let precondition = PagePrecondition(offset: 0, fingerprint: before.pages[0].fingerprint)
        func plan(_ offset: Int) -> CommitPlan {
            CommitPlan(
                query: bench.query, version: before.record.version,
                edits: page(offset, offset..<offset + 20) + [.markContiguous(19..<offset + 20)],
                preconditions: [precondition])
        }
        func replace(_ first: String) async throws {
            let page = PageWrite(offset: 0, content: items([first] + (1..<20).map { "i\($0)" }), evidence: .verified)
            try await bench.commit([.rearrange(.replacing(0..<20, with: page))])
        }
        #expect(try await bench.store.commit(plan(20)) == .committed(before.record.version))
        try await replace("a")
        #expect(try await bench.list.record.version == before.record.version, "no position has moved")
        #expect(try await bench.store.commit(plan(40)) == .superseded(before.record.version))
        try await replace("i0")
        #expect(try await bench.store.commit(plan(40)) == .committed(before.record.version))
        try await bench.commit([.markStale(0..<20)])
        let version = try await bench.list.record.version
        #expect(
            try await bench.store.commit(plan(60)) == .superseded(version), "the required page no longer counts as held"
        )
    }

    @Test(
        "The storage rejects a plan with an impossible lease, and applies no part of it",
        arguments: StorageKind.allCases)
    func impossible(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let plan = CommitPlan(query: bench.query, version: try await bench.list.record.version, edits: page(0, 0..<10))
        await #expect { try await bench.store.commit(plan, claiming: LeaseRequest([-1], for: .seconds(60))) } throws: {
            ($0 as? StorageError)?.code == .invalidPlan
        }
        #expect(try await bench.list.pages.isEmpty)
    }

    @Test(
        "The excerpt in a receipt shows the list after the commit, and equals a separate excerpt",
        arguments: StorageKind.allCases)
    func outlineRange(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<10))
        try await bench.put(40, items(40..<50))
        let version = try await bench.list.record.version
        let plan = CommitPlan(
            query: bench.query, version: version, edits: page(10, 10..<20) + [.setTotal(.exact(90))],
            ledger: [.succeeded(offset: 10)])
        let receipt = try await bench.store.commit(
            plan, claiming: LeaseRequest([20], for: .seconds(60), includingOutline: 19..<30))
        let told = try #require(receipt.grant?.list)
        #expect(told == (try await bench.store.excerpt(of: bench.query, 19..<30)))
        #expect(told.pages.map(\.range) == [10..<20])
        #expect(told.record.total == .exact(90))
        #expect(told.ledger.map(\.state) == [.inFlight])
        let claimed = try await bench.store.claim(
            LeaseRequest([30], for: .seconds(60), includingOutline: 30..<45), of: bench.query, at: noon)
        #expect(claimed.list == (try await bench.store.excerpt(of: bench.query, 30..<45)))
        let gone = try await bench.store.claim(
            LeaseRequest([0], for: .seconds(60), includingOutline: 0..<9), of: QueryID(rawValue: 99), at: noon)
        #expect(gone == LeaseGrant([], at: noon))
    }

    @Test("A page that another owner has in flight is not granted, and the commit still stores its page (R30)")
    func taken() async throws {
        let bench = try await Bench()
        let other = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        _ = try await other.claim([20], of: bench.query, until: minute, at: noon)
        let plan = CommitPlan(query: bench.query, version: try await bench.list.record.version, edits: page(0, 0..<10))
        let receipt = try await bench.store.commit(plan, claiming: LeaseRequest([10, 20], for: .seconds(60)))
        #expect(receipt.grant?.offsets == [10])
        #expect(try await bench.list.pages.map(\.range) == [0..<10])
    }
}
