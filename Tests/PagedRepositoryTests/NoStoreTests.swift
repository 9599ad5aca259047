import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@testable import PagedRepository

@Suite("Answers that the origin forbids to store")
struct NoStoreTests {
    private let storage = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { storage.manualClock }
    private let key = QueryKey("rows")

    private var outline: ListOutline? {
        get async throws {
            guard let record = try await storage.query(key) else { return nil }
            return try await storage.outline(of: record.id)
        }
    }

    private func sync(_ origin: any PageSource, _ change: (inout SyncOptions) -> Void = { _ in }) -> ListSync {
        var options = SyncOptions()
        options.overlap = 0
        options.retryWaitBudget = .zero
        change(&options)
        return ListSync(storage: storage, source: origin, key: key, options: options, clock: clock, jitter: { 0.5 })
    }

    @Test("A page one that may not be stored is passed on and counted, and only the list's record is stored")
    func firstLoad() async throws {
        let origin = MarkedOrigin(StagedOrigin(), noStore)
        let served = Mutex<[SyncEvent]>([])
        let report = try await sync(origin).run { event in
            if case .notStored = event { served.withLock { $0.append(event) } }
        }
        #expect(report.outcome == .incomplete)
        #expect(report.pagesNotStored == 1 && report.pagesFetched == 0 && report.pagesUnchanged == 0)
        #expect(report.warnings.contains { $0.contains("no-store") })
        #expect(report.headFailure == nil)
        #expect(origin.requests.count == 1)
        guard case .notStored(offset: 0, let page) = served.withLock({ $0 }).first else {
            Issue.record("no page was passed on")
            return
        }
        #expect(page.content.count == 10)
        let list = try #require(try await outline)
        #expect(list.pages.isEmpty && list.ledger.isEmpty)
        #expect(list.record.validatedAt == nil && list.record.total == .unknown && list.record.freshFor == nil)
    }

    @Test("A no-store answer leaves stored items unvalidated, and the ledger records the request")
    func known() async throws {
        let origin = MarkedOrigin(StagedOrigin(8))
        _ = try await sync(origin).run()
        let before = try #require(try await outline)
        clock.advance(by: .seconds(100))
        origin.mark(noStore)
        origin.origin.rows.insert(StagedOrigin.row(99), at: 0)
        let report = try await sync(origin).run()
        #expect(report.outcome == .incomplete && report.pagesNotStored == 1)
        let after = try #require(try await outline)
        #expect(after.record == before.record)
        #expect(after.pages == before.pages)
        #expect(after.ledger.first?.state == .ok)
        #expect(after.ledger.first?.lastAttemptAt == clock.now())
    }

    @Test("No byte of an unstorable answer reaches the store's files", arguments: [PagingAccess.offsets, .chain])
    func files(access: PagingAccess) async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin((0..<30).map { "sentinel\($0)" }, access: access)
        let source = UnstorableOrigin(origin)
        let report = try await ListSync(storage: bench.store, source: source, key: bench.key, clock: clock).run()
        #expect(report.pagesNotStored == 1)
        try expectNothing(of: "sentinel", in: bench.path)
        // Page one may be stored now. Later pages may not be stored, and each of them carries its own cursor.
        source.sparesPageOne()
        _ = try await ListSync(storage: bench.store, source: source, key: bench.key, clock: clock).run()
        #expect(try await bench.held.count == 10)
        try expectNothing(of: "sentinel10", in: bench.path)
        try expectNothing(of: "sentinel18", in: bench.path)
    }

    private func expectNothing(of text: String, in folder: String, sourceLocation: SourceLocation = #_sourceLocation)
        throws
    {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(files.contains { $0.hasSuffix("-wal") }, "the log is checked, too", sourceLocation: sourceLocation)
        for file in files {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"))
            #expect(bytes.range(of: Data(text.utf8)) == nil, "\(file)", sourceLocation: sourceLocation)
        }
    }

    @Test("The option storesDespiteNoStore stores unstorable answers like any other")
    func despite() async throws {
        let origin = MarkedOrigin(StagedOrigin(), noStore)
        let report = try await sync(origin) { $0.storesDespiteNoStore = true }.run()
        #expect(report.outcome == .complete && report.pagesNotStored == 0)
        #expect(try await outline?.coverage.count == 48)
    }

    @Test("Unstorable answers cannot locate a change: the refresh fails, and the list stays as it was (R14)")
    func questions() async throws {
        let origin = MarkedOrigin(StagedOrigin(200))
        _ = try await sync(origin).run()
        let before = try #require(try await outline)
        clock.advance(by: .seconds(100))
        // An item far after page one is removed, and page one does not explain the change.
        origin.origin.rows.remove(at: 120)
        origin.mark { request, page in page.mayBeStored = request.target == .first }
        let report = try await sync(origin).run()
        #expect(report.headFailure?.failureClass == .rejected)
        #expect(report.outcome == .incomplete)
        let after = try #require(try await outline)
        #expect(after.record == before.record && after.pages == before.pages)
        #expect(after.ledger.allSatisfy { $0.state != .inFlight }, "no lease is left behind")
        let entry = try #require(after.failures.first)
        #expect(entry.offset == 0 && entry.state == .failedRetryable && entry.nextAttemptAt != nil)
    }

    @Test("A sweep that meets a page that may not be stored verifies no position after it")
    func sweeps() async throws {
        let origin = MarkedOrigin(StagedOrigin())
        _ = try await sync(origin).run()
        origin.mark { request, page in page.mayBeStored = request.target == .first }
        let report = try await sync(origin) { $0.work = .sweep }.run()
        #expect(report.reconciliation != .swept)
        #expect(report.outcome == .incomplete && report.pagesNotStored >= 1)
    }
}

/// A list none of which may be stored. After `sparesPageOne()` page one may be stored.
///
/// State: whether page one may be stored, under a mutex.
private final class UnstorableOrigin: PageSource {
    private let origin: ListOrigin
    private let isPageOneSpared = Mutex(false)

    init(_ origin: ListOrigin) { self.origin = origin }

    func sparesPageOne() { isPageOneSpared.withLock { $0 = true } }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard case .page(var page) = try await origin.fetch(request) else { return .pastEnd }
        page.mayBeStored = isPageOneSpared.withLock { $0 } && request.target == .first
        return .page(page)
    }
}
