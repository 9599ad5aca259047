import PageModel
import PageStore
import StorageSupport
import Testing

/// A storage keeps when a list was invalidated and how long it is fresh, in addition to its last validation.
@Suite("The age of a stored list")
struct FreshnessRecordTests {
    private func validate(_ bench: Bench<any PageStorage>, at moment: Timestamp, askedAt: Timestamp? = nil) async throws
    {
        var lease: LeaseToken?
        if let askedAt {
            lease = try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query, at: askedAt)
                .leases.first?.token
        }
        let version = try await bench.list.record.version
        let plan = CommitPlan(
            query: bench.query, version: version, edits: [.validated], ledger: [.succeeded(offset: 0, lease: lease)],
            requestLease: lease)
        #expect(try await bench.store.commit(plan, at: moment) == .committed(version))
    }

    @Test(
        "Invalidation makes a list of any age stale and keeps the time of its last validation",
        arguments: StorageKind.allCases)
    func invalidated(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.commit([.validated])
        try await bench.commit([.invalidated], at: noon + .seconds(5))
        let list = try await bench.list
        #expect(list.record.invalidatedAt == noon + .seconds(5))
        #expect(list.record.validatedAt == noon)
        #expect(list.freshness(FreshnessPolicy(), now: noon + .seconds(6)) == .stale)
        #expect(try await bench.store.records() == [list.record])
        try await validate(bench, at: noon + .seconds(7), askedAt: noon + .seconds(6))
        #expect(try await bench.list.record.invalidatedAt == nil)
        #expect(try await bench.list.freshness(FreshnessPolicy(), now: noon + .seconds(8)) == .fresh)
    }

    @Test("The end of an audit is kept at the storage's time, until the next one", arguments: StorageKind.allCases)
    func audited(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        #expect(try await bench.list.record.lastAuditAt == nil)
        try await bench.commit([.audited], at: noon + .seconds(5))
        try await bench.commit([.setEnd(3), .validated], at: noon + .seconds(6))
        let record = try await bench.list.record
        #expect(record.lastAuditAt == noon + .seconds(5))
        #expect(try await bench.store.records() == [record])
        #expect(try await bench.store.query(record.key) == record)
        #expect(try await bench.store.state(of: record.key)?.record == record)
        try await bench.commit([.audited], at: noon + .seconds(7))
        #expect(try await bench.list.record.lastAuditAt == noon + .seconds(7))
    }

    @Test("Whether the last run ended as unproven is kept", arguments: StorageKind.allCases)
    func unproven(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        try await bench.commit([.setTotal(.estimate(60)), .setEnd(3), .validated])
        #expect(try await bench.list.coveredShare == 1)
        try await bench.commit([.setUnproven(true)])
        let list = try await bench.list
        #expect(list.record.isUnproven && list.isUnproven && list.isComplete)
        #expect(list.coveredShare == 3.0 / 60)
        #expect(try await bench.store.records() == [list.record])
        #expect(try await bench.store.state(of: list.record.key)?.record == list.record)
        try await bench.commit([.setUnproven(false)])
        #expect(try await !bench.list.isUnproven)
    }

    @Test(
        "An answer clears an invalidation only if its request came after the invalidation",
        arguments: StorageKind.allCases)
    func askedBefore(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.commit([.invalidated], at: noon + .seconds(10))
        try await validate(bench, at: noon + .seconds(11), askedAt: noon + .seconds(9))
        #expect(try await bench.list.record.isInvalidated)
        #expect(try await bench.list.record.validatedAt == noon + .seconds(11))
        try await validate(bench, at: noon + .seconds(12), askedAt: noon + .seconds(10))
        #expect(try await !bench.list.record.isInvalidated, "a request in the same millisecond counts as later")
    }

    @Test(
        "An answer without a lease, or under a lost one, does not clear an invalidation",
        arguments: StorageKind.allCases)
    func askedUnderNothing(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let lost = try await bench.store.claim(
            LeaseRequest([0], for: .seconds(60)), of: bench.query, at: noon + .seconds(20))
        try await bench.commit([.invalidated], at: noon + .seconds(10))
        _ = try await bench.store.claim(LeaseRequest([0], for: .seconds(60)), of: bench.query, at: noon + .seconds(90))
        for lease in [nil, lost.leases[0].token] {
            let plan = CommitPlan(
                query: bench.query, version: try await bench.list.record.version, edits: [.validated],
                requestLease: lease
            )
            _ = try await bench.store.commit(plan, at: noon + .seconds(91))
            #expect(try await bench.list.record.isInvalidated)
            #expect(try await bench.list.record.validatedAt == noon + .seconds(91))
        }
    }

    @Test(
        "A list that was invalidated under a clock since set back can be validated again (R29)",
        arguments: StorageKind.allCases)
    func clockSetBack(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.commit([.invalidated], at: noon + .seconds(90_000))
        try await validate(bench, at: noon + .seconds(2), askedAt: noon + .seconds(1))
        #expect(try await !bench.list.record.isInvalidated)
    }

    @Test(
        "The origin's freshness lifetime is limited to between zero and a year, in whole milliseconds",
        arguments: StorageKind.allCases)
    func freshFor(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let said: [(Duration?, Duration?)] = [
            (.seconds(90), .seconds(90)), (.seconds(-1), .zero), (.seconds(Int64.max), .seconds(365 * 86_400)),
            (nil, nil),
            (.microseconds(1_999), .milliseconds(1)),
        ]
        for (claim, kept) in said {
            try await bench.commit([.setFreshFor(claim)])
            #expect(try await bench.list.record.freshFor == kept, "\(String(describing: claim))")
        }
    }

    @Test(
        "Observers are notified of an invalidation and of a new freshness lifetime, and of neither twice",
        arguments: StorageKind.allCases)
    func notices(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        var own = bench.store.notices(of: bench.query).makeAsyncIterator()
        for _ in 0..<2 { try await bench.commit([.invalidated], at: noon + .seconds(5)) }
        for _ in 0..<2 { try await bench.commit([.setFreshFor(.seconds(7))]) }
        try await bench.commit([.setEnd(3)])
        let version = ListVersion(generation: 1, revision: 0)
        for changes in [[ChangeSet.Change.described], [.described], [.end(3)]] {
            #expect(
                await own.next()?.withoutContent
                    == .changed(ChangeSet(query: bench.query, version: version, changes: changes)))
        }
    }

    @Test("Invalidating a list does not void pending plans (R4)", arguments: StorageKind.allCases)
    func version(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let before = try await bench.list.record.version
        #expect(try await bench.commit([.invalidated]) == .committed(before))
    }

    @Test("Invalidation and freshness lifetime persist after closing and opening the store")
    func kept() async throws {
        let bench = try await Bench()
        try await bench.commit([.validated, .invalidated, .setFreshFor(.seconds(7))])
        let record = try await bench.list.record
        await bench.store.close()
        let again = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await again.outline(of: bench.query)?.record == record)
        #expect(record.invalidatedAt == noon && record.freshFor == .seconds(7))
        await again.close()
    }
}
