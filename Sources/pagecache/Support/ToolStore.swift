#if Tool
import PageModel
import PageStore
import PagedRepository

#if PostgreSQL
import PostgresPageStore
#endif

/// The abilities of a store that commands need besides the port: the file and the server both have them.
protocol ToolStore: PageStorage {
    /// The path or the name of the store for people, without a password.
    var name: String { get }
    func close() async
    /// Closes the store, and checks that its data is still in its place.
    func closeInPlace() async throws(StorageError)

    func summary(of query: QueryID) async throws(StorageError) -> QuerySummary?
    func version(of query: QueryID, at moment: Timestamp) async throws(StorageError) -> ContentVersion?
    func tally(of query: QueryID) async throws(StorageError) -> RunTally?
    func add(_ tally: RunTally, to query: QueryID) async throws(StorageError)
    func statistics() async throws(StorageError) -> StoreStatistics
    func damagedQueries() async throws(StorageError) -> Int
    func isReadable() async throws(StorageError) -> Bool
    func verify() async throws(StorageError) -> VerifyReport
    func repair() async throws(StorageError) -> RepairReport
    func purgeAll() async throws(StorageError) -> PurgeReport
    func evictionPreview(
        to budget: EvictionBudget, exempt: Set<QueryID>
    ) async throws(StorageError) -> EvictionReport
    /// Copies that earlier repairs have left beside the store.
    var filesSetAside: [String] { get }
}

extension SQLitePageStore: ToolStore {
    var name: String { path }

    /// Closes the store, and checks that its path still leads to the stored data.
    /// - Throws: `StorageError` with code `moved` when the store was renamed, replaced or removed before the last
    ///   process had merged its log.
    func closeInPlace() async throws(StorageError) {
        await close()
        guard isInPlace else {
            throw StorageError(.moved, "\(path) was renamed, replaced or removed while it was closed")
        }
    }
}

#if PostgreSQL
extension PostgreSQLPageStore: ToolStore {
    func closeInPlace() async throws(StorageError) { await close() }
    /// The server checks the structure of its own files.
    func isReadable() async throws(StorageError) -> Bool { true }
    var filesSetAside: [String] { [] }
}
#endif

/// The access that a command needs to the store.
enum StoreAccess {
    /// Creates a missing store.
    case creating
    /// Throws `notFound` when there is no store.
    case writing
    /// Changes nothing, and needs no permission to write.
    case reading
}

/// The place of a store: a file, or a server.
enum StorePlace {
    case file(String)
    case server(String)

    init(_ text: String) {
        let isServer = ["postgres://", "postgresql://"].contains { text.hasPrefix($0) }
        self = isServer ? .server(text) : .file(text)
    }

    /// The place for people, without a password.
    var name: String {
        switch self {
        case .file(let path): path
        case .server(let address): StorePlace.shown(address)
        }
    }

    /// The path of the store's file; `nil` for a store on a server.
    var path: String? { if case .file(let path) = self { path } else { nil } }

    /// The address without user, password and parameters. A password may contain "@".
    private static func shown(_ address: String) -> String {
        let parts = address.prefix { $0 != "?" }
        guard let start = parts.firstRange(of: "://")?.upperBound, let end = parts[start...].lastIndex(of: "@") else {
            return String(parts)
        }
        return String(parts[..<start] + parts[parts.index(after: end)...])
    }

    /// Whether the address has a password that other users of this machine could read in the list of processes.
    var hasPassword: Bool {
        guard case .server(let address) = self else { return false }
        if address.contains("password=") { return true }
        guard let start = address.firstRange(of: "://")?.upperBound,
            let end = address[start...].prefix(while: { $0 != "?" }).lastIndex(of: "@")
        else { return false }
        return address[start..<end].contains(":")
    }

    func open(_ access: StoreAccess) async throws(StorageError) -> any ToolStore {
        switch self {
        case .file(let path):
            let mode: SQLitePageStore.Mode =
                switch access {
                case .creating: .createIfMissing
                case .writing: .mustExist
                case .reading: .readOnly
                }
            return try await SQLitePageStore.open(at: path, mode: mode)
        case .server(let address):
            #if PostgreSQL
            let mode: PostgreSQLPageStore.Mode =
                switch access {
                case .creating: .createIfMissing
                case .writing: .mustExist
                case .reading: .readOnly
                }
            var options = PostgreSQLPageStore.Options()
            options.listensAtOnce = false
            options.schema = StorePlace.schema(in: address) ?? options.schema
            return try await PostgreSQLPageStore.open(StorePlace.withoutSchema(address), mode: mode, options: options)
            #else
            throw StorageError(
                .cannotCreate, "this build of pagecache has no PostgreSQL; it was built without its trait")
            #endif
        }
    }

    // MARK: The schema

    /// The parameter `pagecache_schema` of the address names the schema. libpq does not know it.
    private static func schema(in address: String) -> String? {
        address.split(separator: "?", maxSplits: 1).dropFirst().first?.split(separator: "&").compactMap { part in
            part.hasPrefix("pagecache_schema=") ? String(part.dropFirst("pagecache_schema=".count)) : nil
        }.first
    }

    private static func withoutSchema(_ address: String) -> String {
        let parts = address.split(separator: "?", maxSplits: 1)
        guard parts.count == 2 else { return address }
        let rest = parts[1].split(separator: "&").filter { !$0.hasPrefix("pagecache_schema=") }
        return parts[0] + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&"))
    }
}

extension ToolStore {
    /// Does this work, and closes the store in every case.
    func closed<Value>(after work: (any ToolStore) async throws -> Value) async throws -> Value {
        do {
            let value = try await work(self)
            await close()
            return value
        } catch {
            await close()
            throw error
        }
    }
}
#endif
