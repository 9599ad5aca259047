import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

/// Which commits change the version of a list's content (R51).
@Suite("The version of a list's content")
struct ContentVersionTests {
    private func page(_ range: Range<Int>) -> PageWrite {
        PageWrite(offset: range.lowerBound, content: items(range), evidence: .inferred)
    }

    @Test(
        "Every commit with a visible effect gives the next counter and a new stamp",
        arguments: StorageKind.allCases)
    func bumped(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        #expect(try await bench.list.contentVersion.counter == 1, "after registration")
        let validator = Validator(request: "r", entityTag: "e", lastModified: nil, coversTotal: true)
        let commits: [[ListEdit]] = [
            [.insertPage(page(0..<20))], [.insertPage(page(20..<40))], [.insertPage(page(20..<40))],
            [.markContiguous(0..<40)],
            [.touchPage(offset: 0, validator: nil)],
            [.touchPage(offset: 0, validator: validator)], [.setTotal(.exact(50))], [.setEnd(50)], [.validated],
            [.invalidated],
            [.setFreshFor(.seconds(9))], [.splice(0..<1, nil)], [.markStale(30..<39)], [.truncate(at: 25)],
            [.describe(paging: "p", source: "s")], [.setSweep(SweepProgress(position: 3, startedAt: noon))],
            [.audited], [.setAllowsDuplicates(true)],
            [.startGeneration], [.dropOlderGenerations],
            [.insertPage(page(0..<3)), .setTotal(.exact(3)), .setEnd(3), .validated],
        ]
        var stamps: Set<UInt64> = [try await bench.list.contentVersion.stamp]
        for (number, edits) in commits.enumerated() {
            try await bench.commit(edits)
            let version = try await bench.list.contentVersion
            #expect(version.counter == number + 2, "\(edits)")
            #expect(stamps.insert(version.stamp).inserted, "\(edits)")
        }
        _ = try await bench.store.evict(to: EvictionBudget(bytes: 0), exempt: [], at: noon)
        #expect(try await bench.list.contentVersion.counter == commits.count + 2, "after an eviction")
    }

    @Test(
        "Ledger edits, leases, pins, reads and refused plans keep the content version", arguments: StorageKind.allCases)
    func kept(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<20))
        let version = try await bench.list.contentVersion
        let lease = try await bench.store.claim(LeaseRequest([20], for: .seconds(60)), of: bench.query).leases[0].token
        try await bench.store.record([.released(offset: 20, lease: lease), .succeeded(offset: 0)], for: bench.query)
        try await bench.commit([], ledger: [.succeeded(offset: 20)])
        try await bench.commit([.setTotal(.unknown), .setEnd(nil)])
        try await bench.store.setPinned(true, bench.query)
        _ = try await bench.store.window(of: bench.query, 0..<20)
        #expect(try await bench.put(20, items(0..<3)) == .duplicates([0..<20]))
        _ = try await bench.store.evict(to: EvictionBudget(bytes: 1 << 20), exempt: [], at: noon)
        #expect(
            try await bench.store.register(QueryKey("https://example.com/list"), at: noon).contentVersion == version)
        #expect(try await bench.list.contentVersion == version)
    }

    @Test("Every read of a list and every notice contains the content version", arguments: StorageKind.allCases)
    func everywhere(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        var told = bench.store.notices(of: bench.query).makeAsyncIterator()
        let request = LeaseRequest([20], for: .seconds(60), includingOutline: 0..<40)
        let plan = CommitPlan(
            query: bench.query, version: try await bench.list.record.version, edits: [.insertPage(page(0..<20))])
        let receipt = try await bench.store.commit(plan, claiming: request)
        let version = try await bench.list.contentVersion
        #expect(receipt.grant?.list?.contentVersion == version)
        #expect(try await bench.store.query(QueryKey("https://example.com/list"))?.contentVersion == version)
        #expect(try await bench.store.records().map(\.contentVersion) == [version])
        #expect(try await bench.store.summaries().map(\.outline.contentVersion) == [version])
        #expect(try await bench.store.excerpt(of: bench.query, 0..<1)?.contentVersion == version)
        #expect(try await bench.store.window(of: bench.query, 0..<1)?.contentVersion == version)
        let reading = try await bench.store.list(of: bench.query) { _ in [0..<1] }
        #expect(reading?.windows.map(\.contentVersion) == [version])
        guard case .changed(let set) = await told.next(isolation: #isolation) else {
            return #expect(Bool(false), "no change was notified")
        }
        #expect(set.contentVersion == version)
        try await bench.store.record(
            [.succeeded(offset: 20, lease: receipt.grant?.leases.first?.token)], for: bench.query)
        guard case .changed(let ledger) = await told.next(isolation: #isolation) else {
            return #expect(Bool(false), "no change was notified")
        }
        #expect(ledger.contentVersion == version, "a ledger edit keeps the version")
        _ = try await bench.store.purge([bench.query])
        guard case .changed(let last) = await told.next(isolation: #isolation) else {
            return #expect(Bool(false), "no change was notified")
        }
        #expect(last.contentVersion == nil)
    }
}
