#if Tool
import PageModel
import PageStore

#if PostgreSQL
import PostgresPageStore
#endif

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The place of a store: a file, or a server.
enum StorePlace {
    case file(String)
    case server(String)
    /// The reason why a text is neither. The text itself is not kept, because it may contain a password.
    case refused(String)

    private static let schemes = ["postgres://", "postgresql://"]

    init(_ text: String) {
        let start = text.prefix(16).lowercased()
        if let scheme = StorePlace.schemes.first(where: { start.hasPrefix($0) }) {
            let rest = text.dropFirst(scheme.count)
            self = StorePlace.isAmbiguous(rest) ? .refused(StorePlace.encoding) : .server(scheme + rest)
        } else if text.contains("://") || ["postgres:", "postgresql:"].contains(where: { start.hasPrefix($0) }) {
            self = .refused("the address of a store begins with 'postgres://' or 'postgresql://'")
        } else if ["password=", "host=", "dbname="].contains(where: { text.contains($0) }) {
            self = .refused("the address of a store on a server has the form postgres://USER@HOST/DATABASE")
        } else {
            self = .file(text)
        }
    }

    private static let encoding =
        "a user or a password in the address has a character that must be encoded: '@' as %40, '/' as %2F, '?' as %3F"

    /// Whether a delimiter inside a password makes libpq mistake a part of the password for the host (RFC 3986, section
    /// 3.2). The messages of libpq show the host.
    private static func isAmbiguous(_ rest: Substring) -> Bool {
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let path = rest.prefix { $0 != "?" }
        let signs = path.count { $0 == "@" }
        return signs > 1 || signs == 1 && !authority.contains("@")
            || !authority.contains("@") && authority.contains(":") && rest.contains("@")
    }

    /// The place for people, without a password.
    var name: String {
        switch self {
        case .file(let path): path
        case .server(let address): StorePlace.shown(address)
        case .refused: "the given address"
        }
    }

    /// The path of the store's file. `nil` for a store on a server, and for a refused text.
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

    /// The place as a command line may show it: an address without its passwords.
    var withoutPassword: String {
        guard case .server(let address) = self else { return name }
        let parts = address.split(separator: "?", maxSplits: 1)
        var text = String(parts.first ?? "")
        if let start = text.firstRange(of: "://")?.upperBound, let end = text[start...].lastIndex(of: "@"),
            let colon = text[start..<end].firstIndex(of: ":")
        {
            text.removeSubrange(colon..<end)
        }
        let rest = parts.dropFirst().first?.split(separator: "&").filter {
            !($0.prefix { $0 != "=" }).hasSuffix("password")
        }
        return text + (rest.map { $0.isEmpty ? "" : "?" + $0.joined(separator: "&") } ?? "")
    }

    func open(_ access: StoreAccess) async throws(StorageError) -> any ToolStore {
        switch self {
        case .refused(let reason): throw StorageError(.cannotCreate, reason)
        case .file(let path):
            switch access {
            case .creating: return try await SQLitePageStore.open(at: path, mode: .createIfMissing)
            case .writing: return try await SQLitePageStore.open(at: path, mode: .mustExist)
            // After an update of the tool, the first command migrates the store, even a command that only reads (R8).
            case .reading: return try await SQLitePageStore.openForReading(at: path)
            }
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
            // A restart or a failover of the server takes longer than the default budget.
            options.busyBudget = .seconds(30)
            options.schema = StorePlace.schema(in: address) ?? options.schema
            options.localCopy = StorePlace.localCopy(ProcessInfo.processInfo.environment)
            return try await PostgreSQLPageStore.open(StorePlace.withoutSchema(address), mode: mode, options: options)
            #else
            throw StorageError(
                .cannotCreate, "this build of pagecache has no PostgreSQL; it was built without its trait")
            #endif
        }
    }

    /// Opens the store as `open` does, and shows on a terminal which server it waits for.
    func openShowingWait(_ access: StoreAccess) async throws(StorageError) -> any ToolStore {
        guard let serverWait else { return try await open(access) }
        return try await BusyLine.whileDoing(serverWait, after: .milliseconds(500)) {
            () async throws(StorageError) -> any ToolStore in try await open(access)
        }
    }

    /// The words about the wait for a server, with its host and port as the address names them. `nil` for a file.
    var serverWait: String? {
        guard case .server = self else { return nil }
        let host = name.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).first ?? ""
        return "waiting for the server\(host.isEmpty ? " of \(name)" : " at \(host)")"
    }

    /// The reason why the place or the size of its local copy cannot be used, as a usage error. Returns nil when both
    /// can be used.
    func problem(_ environment: [String: String]) -> String? {
        switch self {
        case .refused(let reason): return reason
        case .file: return nil
        case .server:
            guard let size = StorePlace.localCopySize(environment), size.bytes == nil else { return nil }
            return "PAGECACHE_LOCAL_COPY_BYTES must be at least 1MiB, such as 256MiB, and is '\(size.text)'"
        }
    }

    /// The size of the local copy in the environment. Returns nil when the environment names no local copy, or no size
    /// for it. `bytes` is nil when the text is not a valid size.
    private static func localCopySize(_ environment: [String: String]) -> (text: String, bytes: Int?)? {
        guard environment["PAGECACHE_LOCAL_COPY"]?.isEmpty == false,
            let text = environment["PAGECACHE_LOCAL_COPY_BYTES"], !text.isEmpty
        else { return nil }
        return (text, SizeArgument(argument: text).flatMap { $0.bytes >= 1 << 20 ? $0.bytes : nil })
    }

    #if PostgreSQL
    /// The local copy that the environment names. Returns nil when the environment names no local copy.
    private static func localCopy(_ environment: [String: String]) -> PostgreSQLPageStore.LocalCopy? {
        guard let path = environment["PAGECACHE_LOCAL_COPY"], !path.isEmpty else { return nil }
        guard let bytes = localCopySize(environment)?.bytes else { return PostgreSQLPageStore.LocalCopy(path: path) }
        return PostgreSQLPageStore.LocalCopy(path: path, bytes: bytes)
    }
    #endif

    // MARK: The schema

    /// The schema that the parameter `pagecache_schema` of the address names. libpq does not know this parameter.
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
#endif
