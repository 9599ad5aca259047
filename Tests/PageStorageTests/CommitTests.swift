import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@Suite("A commit")
struct CommitTests {
    @Test("Payload bytes are read back exactly as written (R7)", arguments: StorageKind.allCases)
    func exactBytes(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let payloads: [[UInt8]] = [
            [], [0], Array(0...255), Array(#"{"n":1.0e400,"n":10000000000000000000000,"ü":"\ud800"}"#.utf8),
            [UInt8](repeating: 0xC3, count: 300_000),
        ]
        try await bench.put(0, PageContent(payloads.map { RawItem(payload: $0, id: nil) }))
        let window = try #require(try await bench.store.window(of: bench.query, 0..<10))
        #expect(window.parts.flatMap { $0.content.items.map(\.payload) } == payloads)
        #expect(window.missing == [5..<10])
    }

    @Test("A plan for another revision or generation changes nothing (R4)", arguments: StorageKind.allCases)
    func superseded(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        let before = try await bench.list.record.version
        try await bench.commit([.splice(0..<1, nil)])
        let stale = CommitPlan(query: bench.query, version: before, edits: [.splice(0..<1, nil)])
        let now = try await bench.list.record.version
        #expect(now == ListVersion(generation: 1, revision: 1))
        #expect(try await bench.store.commit(stale) == .superseded(now))
        #expect(try await bench.held == [0: "i1", 1: "i2"])
    }

    @Test(
        "A plan that requires the list's extent changes nothing once the extent differs",
        arguments: StorageKind.allCases)
    func anotherLength(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        func plan(_ extent: ListExtent?) async throws -> CommitPlan {
            CommitPlan(
                query: bench.query, version: try await bench.list.record.version,
                edits: [.setTotal(.estimate(9)), .setEnd(3)],
                expectedLength: extent)
        }
        let before = try await bench.list.record.extent
        try await bench.commit([.setTotal(.exact(5))])
        let version = try await bench.list.record.version
        #expect(try await bench.store.commit(plan(before)) == .superseded(version), "the total differs")
        try await bench.commit([.setEnd(5)])
        #expect(
            try await bench.store.commit(plan(ListExtent(total: .exact(5), end: nil))) == .superseded(version),
            "the end differs")
        #expect(try await bench.list.record.extent == ListExtent(total: .exact(5), end: 5))
        #expect(try await bench.store.commit(plan(ListExtent(total: .exact(5), end: 5))) == .committed(version))
        #expect(try await bench.store.commit(plan(nil)) == .committed(version), "this plan requires no extent")
    }

    @Test(
        "A plan for a purged query changes nothing, even when the key is registered again",
        arguments: StorageKind.allCases)
    func purged(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        _ = try await bench.store.purge([bench.query])
        let again = try await bench.store.register(QueryKey("https://example.com/list"), at: noon)
        #expect(again.id != bench.query)
        let plan = CommitPlan(
            query: bench.query, version: ListVersion(generation: 1, revision: 0),
            edits: [.insertPage(PageWrite(offset: 0, content: items(0..<3), evidence: .inferred))])
        #expect(try await bench.store.commit(plan) == .superseded(ListVersion(generation: 0, revision: 0)))
        #expect(try await bench.store.outline(of: again.id)?.pages == [])
    }

    @Test(
        "The storage rejects a plan with an id that the list holds elsewhere, and reports the position (R5)",
        arguments: StorageKind.allCases)
    func duplicates(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        try await bench.put(3, items(3..<6))
        let outcome = try await bench.commit(
            [
                .setTotal(.exact(99)),
                .insertPage(PageWrite(offset: 6, content: items(["i6", "i4"]), evidence: .inferred)),
            ])
        #expect(outcome == .duplicates([3..<6]))
        #expect(try await bench.list.record.total == .unknown)
        #expect(try await bench.held.count == 6)
    }

    @Test(
        "An id that occurs twice in one page is refused until duplicates are allowed (R5, R25)",
        arguments: StorageKind.allCases)
    func duplicatesInside(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        #expect(try await bench.put(0, items(["a", "b", "a"])) == .duplicates([0..<3]))
        try await bench.commit([.setAllowsDuplicates(true)])
        #expect(try await bench.put(0, items(["a", "b", "a"])) == .committed(ListVersion(generation: 1, revision: 0)))
        #expect(try await bench.list.record.allowsDuplicates)
    }

    @Test(
        "A commit of the same items at the same position as another process's page succeeds",
        arguments: StorageKind.allCases
    )
    func samePageTwice(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        #expect(try await bench.put(0, items(0..<3)) == .committed(ListVersion(generation: 1, revision: 0)))
        #expect(try await bench.put(1, items(10..<12)) == .duplicates([0..<3]))
    }

    @Test(
        "A new generation replaces the old one page by page, and the rest stays readable (R19)",
        arguments: StorageKind.allCases)
    func generations(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        for start in stride(from: 0, to: 9, by: 3) { try await bench.put(start, items(start..<start + 3)) }
        // i5 has moved to the start of the list. The old page that held it is removed, too.
        try await bench.commit([
            .startGeneration, .insertPage(PageWrite(offset: 0, content: items(["x", "i5"]), evidence: .inferred)),
        ])
        let list = try await bench.list
        #expect(list.record.version == ListVersion(generation: 2, revision: 0))
        #expect(try await bench.held == [0: "x", 1: "i5"])
        // No new page covers i2, so it stays readable.
        #expect(list.pages.map(\.range) == [0..<2, 2..<3, 6..<9])
        try await bench.commit([.dropOlderGenerations])
        #expect(try await bench.list.pages.map(\.range) == [0..<2])
    }

    @Test("Positions that are marked as stale are no longer held, and stay readable", arguments: StorageKind.allCases)
    func markedStale(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        try await bench.put(3, items(3..<6))
        try await bench.commit([.markStale(4..<5)])
        #expect(
            try await bench.held.keys.sorted() == [0, 1, 2, 3, 5], "only the position marked as stale is no longer held"
        )
        #expect(try await bench.store.window(of: bench.query, 0..<6)?.parts.map(\.isHeld) == [true, true, false, true])
        #expect(try await bench.list.record.version.revision == 1, "plans of the earlier revision are void")
    }

    @Test(
        "A page of the old list that is fetched again unchanged counts as held again (R6)",
        arguments: StorageKind.allCases)
    func revival(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        try await bench.commit([.startGeneration])
        #expect(try await bench.held.isEmpty)
        try await bench.put(0, items(0..<3))
        #expect(try await bench.held == [0: "i0", 1: "i1", 2: "i2"])
        #expect(try await bench.put(3, items(["i1"])) == .duplicates([0..<3]))
    }

    @Test(
        "Ledger rows move with their positions, and rows of replaced positions are deleted (R4)",
        arguments: StorageKind.allCases
    )
    func ledgerMoves(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        for start in [0, 20, 40] { try await bench.put(start, items(start..<start + 20)) }
        let failure = FetchFailure(.server, "500", isRetryable: true, httpStatus: 500)
        try await bench.commit(
            [],
            ledger: [
                .succeeded(offset: 0), .succeeded(offset: 20),
                .failed(offset: 60, failure: failure, nextAttemptIn: .zero),
            ])
        try await bench.commit([.splice(0..<1, PageWrite(offset: 0, content: items(["x", "y"]), evidence: .inferred))])
        #expect(try await bench.list.ledger.map(\.offset) == [21, 61])
        #expect(try await bench.list.ledger.last?.failure?.httpStatus == 500)
    }

    @Test(
        "A page that moves loses its validator, and the pages before it keep theirs (R1)",
        arguments: StorageKind.allCases)
    func validators(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let validator = Validator(
            request: "https://example.com/list", entityTag: "\"v1\"", lastModified: nil, coversTotal: true)
        for start in [0, 3] {
            try await bench.commit(
                [
                    .insertPage(
                        PageWrite(
                            offset: start, content: items(start..<start + 3), evidence: .inferred, validator: validator)
                    )
                ])
        }
        try await bench.commit([.splice(3..<3, PageWrite(offset: 3, content: items(["new"]), evidence: .inferred))])
        let list = try await bench.list
        #expect(list.pages.first?.validator == validator)
        #expect(list.pages.last?.validator == nil)
    }

    @Test(
        "A validator of page one no longer covers the total after another page reports a different exact one, but an estimate has no effect (R16)",
        arguments: StorageKind.allCases)
    func coveredTotal(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let validator = Validator(request: "first", entityTag: "\"v1\"", lastModified: nil, coversTotal: true)
        let head = PageWrite(offset: 0, content: items(0..<3), evidence: .verified, validator: validator)
        try await bench.commit([.insertPage(head), .setTotal(.exact(9)), .validated])
        #expect(try await bench.list.pages.first?.validator?.coversTotal == true)
        try await bench.commit([
            .insertPage(PageWrite(offset: 3, content: items(3..<6), evidence: .inferred)), .setTotal(.estimate(12)),
        ])
        #expect(try await bench.list.pages.first?.validator?.coversTotal == true)
        try await bench.commit([
            .insertPage(PageWrite(offset: 6, content: items(6..<8), evidence: .inferred)), .setTotal(.exact(8)),
        ])
        #expect(try await bench.list.pages.first?.validator?.coversTotal == false)
        try await bench.commit([.touchPage(offset: 0, validator: validator), .setTotal(.exact(9)), .validated])
        #expect(try await bench.list.pages.first?.validator?.coversTotal == true)
    }

    @Test("A page that is cut keeps only the cursors that still apply", arguments: StorageKind.allCases)
    func cursors(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let page = PageWrite(
            offset: 0, content: items(0..<6), evidence: .verified, cursorIn: PageCursor("in"),
            cursorOut: PageCursor("out"))
        try await bench.commit([.insertPage(page)])
        try await bench.commit([
            .splice(
                0..<2, PageWrite(offset: 0, content: items(["x"]), evidence: .verified, cursorOut: PageCursor("x-out")))
        ])
        let pages = try await bench.list.pages
        #expect(pages.map(\.range) == [0..<1, 1..<5])
        #expect(pages.map(\.cursorOut?.text) == ["x-out", "out"])
        #expect(pages.map(\.cursorIn?.text) == [nil, nil])
    }

    @Test(
        "An inferred seam stays marked as inferred when pages are joined and cut again (G1)",
        arguments: StorageKind.allCases)
    func innerSeams(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<20))
        try await bench.put(20, items(20..<40))
        // The commit replaces 18 items. The two remaining items of page one are joined with page two.
        try await bench.commit([.splice(0..<18, PageWrite(offset: 0, content: items(100..<120), evidence: .inferred))])
        var list = try await bench.list
        #expect(list.pages.map(\.range) == [0..<20, 20..<42])
        #expect(list.pages.last?.innerInferredSeams.map(\.index) == [2])
        #expect(list.inferredSeams == 2, "one seam is between the pages, and one is inside")
        try await bench.commit([.splice(21..<22, nil)])
        list = try await bench.list
        #expect(list.coverage.segments == [0..<41])
        #expect(list.inferredSeams >= 2)
    }

    @Test("Offsets that cannot be positions are refused", arguments: StorageKind.allCases, [-1, Int.max, Int.min])
    func impossibleOffsets(kind: StorageKind, offset: Int) async throws {
        let bench = try await Bench(kind)
        await #expect(throws: StorageError.self) {
            try await bench.put(offset, PageContent())
        }
    }

    @Test(
        "Keys with NUL, quotes, percent signs and a megabyte of text are stored exactly",
        arguments: StorageKind.allCases,
        [
            "a\0b", "a\0c", "'; DROP TABLE query; --", "%_", "", String(repeating: "ü", count: 500_000),
        ])
    func keys(kind: StorageKind, text: String) async throws {
        let bench = try await Bench(kind)
        let made = try await bench.store.register(QueryKey(text, scope: text), at: noon)
        #expect(try await bench.store.register(QueryKey(text, scope: text), at: noon) == made)
        #expect(try await bench.store.query(QueryKey(text, scope: text))?.key.text == text)
        #expect(try await bench.store.query(QueryKey(text + "\0", scope: text)) == nil)
    }

    @Test(
        "The ledger counts attempts until a page succeeds, and restarts the count afterwards",
        arguments: StorageKind.allCases)
    func attempts(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let failure = FetchFailure(.timeout, "slow", isRetryable: true)
        func claim() async throws -> LeaseToken {
            try await bench.store.claim(LeaseRequest([5], for: .seconds(60)), of: bench.query).leases[0].token
        }
        for attempt in 1...3 {
            let lease = try await claim()
            try await bench.store.record(
                [.failed(offset: 5, failure: failure, nextAttemptIn: .zero, lease: lease)], for: bench.query)
            let entry = try #require(try await bench.list.ledger.first)
            #expect(entry.attempts == attempt)
            #expect(entry.state == .failedRetryable)
            #expect(entry.failure == failure)
            #expect(entry.leaseOwner == nil)
        }
        try await bench.commit([], ledger: [.succeeded(offset: 5, lease: try await claim())])
        #expect(try await bench.list.ledger.first?.failure == nil)
        _ = try await claim()
        #expect(try await bench.list.ledger.first?.attempts == 1)
    }
}
