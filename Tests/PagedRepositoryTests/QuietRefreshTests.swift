import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A storage that counts its transactions and the rows that they return.
///
/// State: the counts, under a mutex.
private final class MeteredStorage: RelayedStorage {
    struct Counts: Equatable {
        var transactions = 0
        var pages = 0
        var ledgerRows = 0
    }

    let storage: any PageStorage
    private let counts = Mutex(Counts())

    init(_ storage: any PageStorage) { self.storage = storage }

    var counted: Counts { counts.withLock { $0 } }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let value = try await body()
        counts.withLock { counts in
            counts.transactions += 1
            let list = value as? ListOutline? ?? (value as? LeaseGrant)?.list ?? (value as? CommitReceipt)?.grant?.list
            counts.pages += list?.pages.count ?? 0
            counts.ledgerRows += list?.ledger.count ?? 0
            if let window = value as? ListWindow? { counts.pages += window?.parts.count ?? 0 }
            if let reading = value as? ListReading? { counts.pages += reading?.outline.pages.count ?? 0 }
            if let state = value as? ListState? {
                counts.pages += state?.pageOne == nil ? 0 : 1
                counts.ledgerRows += state?.failures?.count ?? 0
            }
        }
        return value
    }

    func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        let pages = try await storage.outline(of: query)?.pages.count ?? 0
        counts.withLock { counts in
            counts.transactions += 1
            counts.pages += pages
        }
        return try await storage.damage(of: query, thoroughly: thoroughly)
    }
}

/// An origin of page one only. The answer holds the unchanged items, or is `notModified` if `isConditional` is true.
private struct QuietOrigin: PageSource {
    var items: Int
    var isConditional: Bool
    var access = PagingAccess.offsets

    var usage: SourceUsage { SourceUsage(requests: 1) }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard request.target == .first else {
            throw FetchFailure(.rejected, "only page one is asked for", isRetryable: false)
        }
        let validator = Validator(request: "first", entityTag: "1", lastModified: nil, coversTotal: true)
        if isConditional, request.validator != nil { return .notModified(total: .unknown, validator: nil) }
        return .page(
            FetchedPage(
                content: named(0..<10), total: .exact(items), next: access == .chain ? PageCursor("i9") : nil,
                validator: isConditional ? validator : nil))
    }
}

/// The cost of a refresh without changes does not depend on the length of the list (R16).
@Suite("A refresh without changes")
struct QuietRefreshTests {
    private let key = QueryKey("https://example.com/items")
    private let clock = ManualClock()

    /// Stores a complete list with the given number of pages of ten items.
    private func fill(_ storage: any PageStorage, pages: Int, isConditional: Bool, isChain: Bool) async throws {
        let query = try await storage.register(key).id
        let validator = Validator(request: "first", entityTag: "1", lastModified: nil, coversTotal: true)
        for first in stride(from: 0, to: pages, by: 500) {
            let numbers = first..<min(first + 500, pages)
            var edits = numbers.map { page in
                ListEdit.insertPage(
                    PageWrite(
                        offset: page * 10, content: named(page * 10..<page * 10 + 10), evidence: .verified,
                        cursorIn: isChain && page > 0 ? PageCursor("i\(page * 10 - 1)") : nil,
                        cursorOut: isChain && page < pages - 1 ? PageCursor("i\(page * 10 + 9)") : nil,
                        validator: page == 0 && isConditional ? validator : nil))
            }
            edits += [.setTotal(.exact(pages * 10)), .setEnd(pages * 10), .validated]
            let outcome = try await storage.commit(
                CommitPlan(
                    query: query, version: ListVersion(generation: 1, revision: 0), edits: edits,
                    ledger: numbers.map { .succeeded(offset: $0 * 10) }))
            #expect(outcome == .committed(ListVersion(generation: 1, revision: 0)))
        }
    }

    private func storage(_ kind: StorageKind, _ folder: Folder) async throws -> any PageStorage {
        try await openStorage(kind, folder, clock: clock)
    }

    @Test(
        "A refresh without changes reads only page one, in four transactions at most, in short and long lists",
        arguments: [StorageKind.sqlite, .memory], [(true, false), (false, false), (true, true), (false, true)])
    func cost(kind: StorageKind, form: (isConditional: Bool, isChain: Bool)) async throws {
        var costs: [MeteredStorage.Counts] = []
        for pages in [1, 4, 40, 700] {
            for work in [SyncOptions.Work.everything, .refresh] {
                let folder = Folder()
                let inner = try await storage(kind, folder)
                try await fill(inner, pages: pages, isConditional: form.isConditional, isChain: form.isChain)
                clock.advance(by: .seconds(60))
                let metered = MeteredStorage(inner)
                var options = SyncOptions()
                options.work = work
                let report = try await ListSync(
                    storage: metered,
                    source: QuietOrigin(
                        items: pages * 10, isConditional: form.isConditional,
                        access: form.isChain && pages > 1 ? .chain : .offsets),
                    key: key, options: options, clock: clock
                ).run()
                #expect(report.outcome == .complete && report.reconciliation == .unchanged, "\(report)")
                #expect(report.pagesUnchanged == 1 && report.pagesFetched == 0 && report.pagesKept == pages - 1)
                #expect(report.state?.holdings?.held.count == pages * 10 && report.list == nil)
                #expect(report.state?.record.validatedAt == clock.now())
                costs.append(metered.counted)
            }
        }
        // The reads of page one come with the list's state, with the lease, and with the state at the end.
        for cost in costs {
            #expect(cost.transactions <= 4, "\(costs)")
            #expect(cost.pages <= 3 && cost.ledgerRows <= 1, "\(costs)")
        }
    }

    @Test("The options reportsOutline and checksStoredBytes make the report contain the outline")
    func outline() async throws {
        let storage = MemoryStorage(clock: clock)
        try await fill(storage, pages: 4, isConditional: true, isChain: false)
        for change: (inout SyncOptions) -> Void in [
            { $0.reportsOutline = true }, { $0.checksStoredBytes = true },
        ] {
            var options = SyncOptions()
            change(&options)
            let report = try await ListSync(
                storage: storage, source: QuietOrigin(items: 40, isConditional: true), key: key, options: options,
                clock: clock
            ).run()
            #expect(report.outcome == .complete && report.list?.coverage.count == 40)
        }
    }
}
