import Foundation
public import PageModel
public import PageStore
#if PostgreSQL
import PostgresPageStore
#endif
public import PagedRepositoryTesting

/// A temporary directory for a test. It is removed with the value.
public final class Folder: Sendable {
    public let path: String

    public init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("pagecache-test-\(UUID().uuidString)").path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    public func createFile(_ path: String, _ text: String = "") {
        precondition(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
    }

    public var store: String { "\(path)/store.sqlite" }
    /// The name of the schema on a server that belongs to this folder. The test server is removed as a whole.
    public var schema: String { "test_" + path.suffix(36).lowercased().filter { $0 != "-" } }
    public var contents: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
}

/// Returns the code of the `StorageError` that a call throws. `nil` means that it succeeds, or throws another error.
public func code<Value>(_ body: () async throws -> Value) async -> StorageError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? StorageError)?.code
    }
}

/// The default time in these tests.
public let noon = Timestamp(milliseconds: 1_800_000_000_000)

public func items(_ names: some Sequence<String>) -> PageContent {
    PageContent(names.map { RawItem(payload: Array(#"{"id":"\#($0)"}"#.utf8), id: $0) })
}

public func items(_ range: Range<Int>) -> PageContent { items(range.map { "i\($0)" }) }

/// The implementations of a storage.
public enum StorageKind: String, CaseIterable, Sendable {
    case sqlite, memory
    /// On the server that PAGECACHE_TEST_POSTGRES names. Left out without it.
    case postgres
    /// The same with a local copy. Each object has a file of its own.
    case postgresCopied

    public static let allCases: [StorageKind] =
        TestServer.connectionString == nil ? [.sqlite, .memory] : [.sqlite, .memory, .postgres, .postgresCopied]
    /// The storages that keep their data when the process ends. Each owner opens one itself.
    public static let durable = allCases.filter { $0 != .memory }
}

/// The PostgreSQL server of the tests.
public enum TestServer {
    /// A URI of a role that may create schemas. `Scripts/postgres` starts a server and prints it.
    public static let connectionString: String? = {
        #if PostgreSQL
        ProcessInfo.processInfo.environment["PAGECACHE_TEST_POSTGRES"].flatMap { $0.isEmpty ? nil : $0 }
        #else
        nil
        #endif
    }()
    public static var isThere: Bool { connectionString != nil }
}

/// A storage with one query, and short methods for tests.
public struct Bench<Store: Sendable>: Sendable {
    public let folder: Folder
    public let store: Store
    public let query: QueryID
    /// The clock of the storage.
    public let clock: ManualClock
    private let storage: any PageStorage

    private init(_ store: Store, _ storage: any PageStorage, _ folder: Folder, _ clock: ManualClock) async throws {
        self.clock = clock
        self.folder = folder
        self.store = store
        self.storage = storage
        query = try await storage.register(QueryKey("https://example.com/list")).id
    }

    public var list: ListOutline { get async throws { try await storage.outline(of: query)! } }

    @discardableResult
    public func commit(
        _ edits: [ListEdit], ledger: [LedgerEdit] = [], at moment: Timestamp = noon
    ) async throws -> CommitOutcome {
        clock.set(to: moment)
        return try await storage.commit(
            CommitPlan(query: query, version: try await list.record.version, edits: edits, ledger: ledger))
    }

    @discardableResult
    public func put(_ offset: Int, _ content: PageContent, at moment: Timestamp = noon) async throws -> CommitOutcome {
        try await commit([.insertPage(PageWrite(offset: offset, content: content, evidence: .inferred))], at: moment)
    }

    /// The ids of held positions. Pages of older generations do not count.
    public var held: [Int: String] {
        get async throws {
            let window = try await storage.window(of: query, 0..<1_000_000)!
            var held: [Int: String] = [:]
            for part in window.parts where part.isHeld {
                for index in 0..<part.content.count { held[part.offset + index] = part.content.ids[index] }
            }
            return held
        }
    }
}

extension Bench where Store == SQLitePageStore {
    public init() async throws {
        let folder = Folder()
        let clock = ManualClock(noon)
        let store = try await SQLitePageStore.open(at: folder.store, mode: .createIfMissing, clock: clock)
        try await self.init(store, store, folder, clock)
    }
}

extension Bench where Store == any PageStorage {
    /// - Parameters:
    ///   - kind: The implementation of the storage.
    ///   - journal: The bound of the list's journal. Defaults to the default bound.
    ///   - stamps: The seed of the version stamps. `nil` means random stamps of the system. Defaults to nil.
    public init(_ kind: StorageKind, journal: JournalBound = JournalBound(), stamps: UInt64? = nil) async throws {
        let folder = Folder()
        let clock = ManualClock(noon)
        let generator: any RandomNumberGenerator & Sendable =
            stamps.map { SeededGenerator(seed: $0) } ?? SystemRandomNumberGenerator()
        let store = try await openStorage(kind, folder, journal: journal, clock: clock, stamps: generator)
        try await self.init(store, store, folder, clock)
    }

    /// Opens the storage of this bench once more, as another process would. In memory there is one for all.
    public func another(_ kind: StorageKind) async throws -> any PageStorage {
        kind == .memory ? store : try await openStorage(kind, folder, clock: clock)
    }
}

/// Opens a storage of this kind: the file of the folder, an empty one in memory, or the folder's schema on the server.
public func openStorage(
    _ kind: StorageKind, _ folder: Folder, journal: JournalBound = JournalBound(), clock: ManualClock,
    stamps: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
) async throws -> any PageStorage {
    switch kind {
    case .sqlite:
        var options = SQLitePageStore.Options()
        options.journal = journal
        return try await SQLitePageStore.open(
            at: folder.store, mode: .createIfMissing, options: options, clock: clock, stamps: stamps)
    case .memory: return MemoryStorage(journal: journal, clock: clock, stamps: stamps)
    case .postgres, .postgresCopied:
        return try await openOnServer(
            folder, journal: journal, clock: clock, stamps: stamps, hasCopy: kind == .postgresCopied)
    }
}

private func openOnServer(
    _ folder: Folder, journal: JournalBound, clock: ManualClock,
    stamps: any RandomNumberGenerator & Sendable, hasCopy: Bool
) async throws -> any PageStorage {
    #if PostgreSQL
    var options = PostgreSQLPageStore.Options()
    options.schema = folder.schema
    options.countsUp = true
    options.journal = journal
    options.connections = 1
    // Only a hanging test meets these limits, and no lease ends because a busy machine renews its heartbeat late.
    options.busyBudget = .seconds(60)
    options.timeLimit = .seconds(300)
    options.ownerLease = .seconds(600)
    if hasCopy {
        options.localCopy = PostgreSQLPageStore.LocalCopy(path: "\(folder.path)/copies/\(UUID().uuidString).sqlite")
        // These tests read through one object what another one has just committed.
        options.trust = .zero
    }
    return try await PostgreSQLPageStore.open(
        TestServer.connectionString ?? "", options: options, clock: clock, stamps: stamps)
    #else
    throw StorageError(.notFound, "this build has no PostgreSQL")
    #endif
}

/// The long form of the suites, run by `make soak`.
public enum Soak {
    public static let isOn = ProcessInfo.processInfo.environment["PAGECACHE_SOAK"] != nil
    /// The seed of random tests. Failures print it, and PAGECACHE_SEED repeats a run.
    public static let seed = ProcessInfo.processInfo.environment["PAGECACHE_SEED"].flatMap(UInt64.init) ?? 11
}
