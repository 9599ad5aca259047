import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// An origin whose answers have the same content in different bytes each time (R6).
@Suite("Equal items in different bytes")
struct SameItemsTests {
    private let clock = ManualClock()
    private let key = QueryKey("list")

    private static let kinds: [PagingAccess] = [.offsets, .grid(size: 10), .chain, .single]

    private func storage(_ kind: StorageKind, _ folder: Folder) async throws -> any PageStorage {
        try await openStorage(kind, folder, clock: clock)
    }

    private func sync(
        _ storage: any PageStorage, _ origin: RestlessOrigin, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> SyncReport {
        var options = SyncOptions()
        change(&options)
        clock.advance(by: .seconds(1))
        return try await ListSync(
            storage: storage, source: origin, key: key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

    private func list(_ storage: any PageStorage) async throws -> ListWindow {
        let record = try #require(try await storage.query(key))
        return try #require(try await storage.window(of: record.id, 0..<1_000))
    }

    private func payloads(_ storage: any PageStorage) async throws -> [String] {
        try await list(storage).parts.filter(\.isHeld).flatMap { part in
            (0..<part.content.count).map { String(decoding: part.content.payload(at: $0), as: UTF8.self) }
        }
    }

    /// The journalled changes of the items since a version.
    private func changes(
        _ storage: any PageStorage, since version: ContentVersion
    ) async throws -> [JournalChange] {
        guard
            case .entries(let entries, _, false) = try await storage.changes(
                of: try await list(storage).record.id, since: version, limit: 100)
        else { return [.generationBegan] }
        return entries.flatMap(\.changes)
    }

    @Test(
        "A refresh of re-encoded items makes one request, writes and journals no item, and keeps the first bytes",
        arguments: StorageKind.allCases, SameItemsTests.kinds)
    func refresh(kind: StorageKind, access: PagingAccess) async throws {
        for hasIDs in [true, false] {
            let folder = Folder()
            let storage = try await storage(kind, folder)
            let origin = RestlessOrigin(access == .single ? 10 : 47, access: access, hasIDs: hasIDs)
            #expect(try await sync(storage, origin).outcome == .complete)
            let (before, first) = (try await list(storage), try await payloads(storage))
            #expect(first.count == origin.count)
            for _ in 0..<3 {
                let asked = origin.requests
                let report = try await sync(storage, origin)
                #expect(report.reconciliation == .unchanged)
                #expect(report.pagesFetched == 0)
                #expect(origin.requests == asked + 1)
            }
            #expect(try await payloads(storage) == first)
            #expect(try await changes(storage, since: before.record.contentVersion) == [])
            #expect(try await list(storage).record.version == before.record.version)
        }
    }

    @Test(
        "A sweep of re-encoded items finds every page unchanged, as with unchanged bytes",
        arguments: StorageKind.allCases, [.offsets, .grid(size: 10), .chain] as [PagingAccess])
    func sweep(kind: StorageKind, access: PagingAccess) async throws {
        for hasIDs in [true, false] {
            var fetched: [Int] = []
            var told: [[JournalChange]] = []
            for isCalm in [true, false] {
                let folder = Folder()
                let storage = try await storage(kind, folder)
                let origin = RestlessOrigin(47, access: access, hasIDs: hasIDs)
                origin.isCalm = isCalm
                _ = try await sync(storage, origin)
                let (before, first) = (try await list(storage), try await payloads(storage))
                let report = try await sync(storage, origin) { $0.work = .sweep }
                #expect(report.reconciliation == .swept)
                #expect(try await payloads(storage) == first)
                fetched.append(report.pagesFetched)
                told.append(try await changes(storage, since: before.record.contentVersion))
            }
            #expect(fetched[0] == fetched[1])
            #expect(told[0] == told[1])
        }
    }

    @Test(
        "One edited item and one inserted item are the only changes among re-encoded items",
        arguments: StorageKind.allCases, [.offsets, .grid(size: 10), .chain] as [PagingAccess])
    func edit(kind: StorageKind, access: PagingAccess) async throws {
        for hasIDs in [true, false] {
            let folder = Folder()
            let storage = try await storage(kind, folder)
            let origin = RestlessOrigin(47, access: access, hasIDs: hasIDs)
            _ = try await sync(storage, origin)
            let (before, first) = (try await list(storage), try await payloads(storage))
            if hasIDs { origin.edit(3) }
            origin.insert(at: 25)
            let report = try await sync(storage, origin)
            #expect(report.outcome == .complete)
            let now = try await payloads(storage)
            #expect(now.count == 48)
            #expect(now.filter { first.contains($0) }.count == (hasIDs ? 46 : 47))
            let changes = try await changes(storage, since: before.record.contentVersion)
            let edited = changes.flatMap { change in
                if case .rearranged(let parts) = change { parts.edited.map(\.before.id) } else { [String?]() }
            }
            #expect(edited == (hasIDs ? ["3"] : []))
            let deleted = changes.filter {
                if case .rearranged(let parts) = $0 { !parts.deleted.isEmpty } else { false }
            }
            #expect(deleted.isEmpty)
        }
    }

    @Test("Numbers are compared by their text, and payloads without JSON by bytes", arguments: StorageKind.allCases)
    func bytes(kind: StorageKind) async throws {
        let folder = Folder()
        let storage = try await storage(kind, folder)
        func step(_ number: String, _ other: String) -> ScriptedSource.Step {
            let items = [RawItem(payload: Array(number.utf8), id: "a"), RawItem(payload: Array(other.utf8), id: "b")]
            return .init(.first, .page(FetchedPage(content: PageContent(items), total: .exact(2))))
        }
        let source = ScriptedSource([
            step(#"{"n":1,"m":2}"#, "raw 1"), step(#"{"m":2,"n":1.0}"#, "raw 1"), step(#"{"n":1.0,"m":2}"#, "raw  1"),
        ])
        for expected in [
            [#"{"n":1,"m":2}"#, "raw 1"], [#"{"m":2,"n":1.0}"#, "raw 1"], [#"{"m":2,"n":1.0}"#, "raw  1"],
        ] {
            clock.advance(by: .seconds(1))
            _ = try await ListSync(
                storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
            #expect(try await payloads(storage) == expected)
        }
        #expect(source.remaining.isEmpty)
    }

    @Test("A page one of the same bytes is compared by hashes, and items are read only where bytes differ")
    func reads() async throws {
        let folder = Folder()
        let storage = CountingStorage(try await storage(.sqlite, folder))
        let origin = RestlessOrigin(47, access: .offsets, hasIDs: true)
        _ = try await sync(storage, origin)
        let query = try await list(storage).record.id
        func reads(isCalm: Bool) async throws -> Int {
            origin.isCalm = isCalm
            let before = storage.reads(of: query)
            #expect(try await sync(storage, origin).reconciliation == .unchanged)
            return storage.reads(of: query) - before
        }
        // The stored bytes of page one match the list's state alone. Other bytes require a read of the items.
        #expect(try await reads(isCalm: true) <= 1)
        #expect(try await reads(isCalm: false) <= 12)
        // The stored page is read once, and not at all where its bytes arrive again.
        let before = storage.windows
        #expect(try await reads(isCalm: true) <= 1)
        #expect(storage.windows == before)
        for _ in 0..<4 { _ = try await reads(isCalm: false) }
        #expect((3...4).contains(storage.windows - before), "one answer in four has the first bytes")
    }
}

/// An origin that encodes each item again for each answer: members in another order, and strings with and without
/// escapes.
///
/// State: the items and the number of requests, under a mutex.
private final class RestlessOrigin: PageSource {
    private struct State {
        var numbers: [Int]
        var edited: Set<Int> = []
        var requests = 0
        var isCalm = false
    }

    let access: PagingAccess
    private let hasIDs: Bool
    private let state: Mutex<State>

    init(_ count: Int, access: PagingAccess, hasIDs: Bool) {
        self.access = access
        self.hasIDs = hasIDs
        state = Mutex(State(numbers: Array(0..<count)))
    }

    var count: Int { state.withLock { $0.numbers.count } }
    var requests: Int { state.withLock { $0.requests } }
    var usage: SourceUsage { SourceUsage(requests: requests) }
    /// Whether every item is encoded as in the first answer.
    var isCalm: Bool {
        get { state.withLock { $0.isCalm } }
        set { state.withLock { $0.isCalm = newValue } }
    }

    func edit(_ number: Int) { state.withLock { _ = $0.edited.insert(number) } }
    func insert(at index: Int) { state.withLock { $0.numbers.insert(1_000, at: index) } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        state.withLock { state in
            state.requests += 1
            let start =
                switch request.target {
                case .first: 0
                case .offset(let offset): min(offset, state.numbers.count)
                case .cursor(let cursor): Int(cursor.text) ?? 0
                }
            let size = access == .single ? state.numbers.count : 10
            let range = start..<min(start + size, state.numbers.count)
            let turn = state.isCalm ? 1 : state.requests
            let items = state.numbers[range].map { number in
                let members = [
                    #""id":\#(number)"#, turn % 2 == 0 ? #""name":"caf\u00e9 \/""# : #""name":"café /""#,
                    #""edited":\#(state.edited.contains(number))"#, #""list":[1.0,{"x":null}]"#,
                ]
                let turned = members[(turn % 4)...] + members[..<(turn % 4)]
                return RawItem(
                    payload: Array("{\(turned.joined(separator: ","))}".utf8), id: hasIDs ? "\(number)" : nil)
            }
            let goesOn = access == .chain && range.upperBound < state.numbers.count
            return .page(
                FetchedPage(
                    content: PageContent(items), total: .exact(state.numbers.count),
                    next: goesOn ? PageCursor("\(range.upperBound)") : nil))
        }
    }
}
