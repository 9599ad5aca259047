#if Tool
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The results of all checks. The file system is read here; the other facts are arguments.
struct DoctorChecks {
    enum Status: String {
        case ok, warning, error

        var colour: Int {
            switch self {
            case .ok: Colour.fresh
            case .warning: Colour.stale
            case .error: Colour.failing
            }
        }
    }

    struct Result {
        var name: String
        var status: Status
        var message: String
        var hint: String?
        /// The exit status of an error. `nil` for the other results.
        var exit: ExitStatus?
    }

    private(set) var results: [Result] = []
    private let environment: [String: String]
    private let now: Timestamp
    /// The files in which common systems keep certificates.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ]

    init(environment: [String: String], now: Timestamp) { (self.environment, self.now) = (environment, now) }

    private mutating func note(
        _ name: String, _ status: Status, _ message: String, hint: String? = nil, exit: ExitStatus? = nil
    ) {
        results.append(Result(name: name, status: status, message: message, hint: hint, exit: exit))
    }

    // MARK: The file

    /// - Parameter queries: the queries of the store. `nil` when they cannot be read.
    mutating func checkPlace(_ path: String, _ queries: [QuerySummary]? = nil) {
        let files = FileManager.default
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let mode = Int(status.st_mode)
        if mode & 0o077 == 0 {
            note("permissions", .ok, "only the owner can read the store")
        } else {
            note(
                "permissions", .error, "other users can access \(path) (mode \(String(mode & 0o777, radix: 8)))",
                hint: "chmod 600 \(path)", exit: .permission)
        }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if !files.isReadableFile(atPath: path) {
            cannotWrite("this user can neither read nor write the store")
        } else if !files.isWritableFile(atPath: folder.isEmpty ? "/" : folder) || !files.isWritableFile(atPath: path) {
            cannotWrite("this user can only read the store")
        } else {
            canWrite()
        }
        var system = statvfs()
        if statvfs(path, &system) == 0 {
            let bytes = Int(system.f_bavail) * Int(system.f_frsize)
            note(
                "disk", bytes < 100_000_000 ? .warning : .ok, "\(SizeText.bytes(bytes)) are free",
                hint: bytes < 100_000_000 ? DoctorChecks.spaceHint(queries ?? []) : nil)
        }
    }

    /// The hint for a disk with little free space: an eviction to a budget below the present size, if that frees at
    /// least a megabyte.
    static func spaceHint(_ queries: [QuerySummary]) -> String {
        let (all, evictable) = queries.reduce(into: (0, 0)) { sums, query in
            sums.0 += query.bytes
            if !query.outline.record.isPinned { sums.1 += query.bytes }
        }
        let budget = all - evictable / 2
        let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")]
        guard evictable >= 2_000_000, let unit = units.first(where: { budget >= 10 * $0.0 }) else {
            return "free some space on this disk; 'pagecache gc' can evict \(SizeText.bytes(evictable)) of the store"
        }
        let command = "pagecache gc --max-bytes \(budget / unit.0)\(unit.1)"
        return "'\(command)' shrinks the store"
    }

    mutating func canWrite() { note("write access", .ok, "this user can write into the store") }

    mutating func cannotWrite(_ obstacle: String) {
        note("write access", .warning, obstacle, hint: "sync needs write access")
    }

    /// - Parameter path: the path of the store; `nil` for a store on a server.
    mutating func failed(_ error: StorageError, _ path: String?) {
        let failure = ToolFailure(error)
        if error.code == .notFound {
            guard let place = path.flatMap({ DoctorChecks.obstacle(to: $0) }) else {
                return note("store", .warning, error.message, hint: "'pagecache sync URL' creates it")
            }
            return note(
                "store", .error, "\(error.message), and none can be created: \(place)",
                hint: "change the permissions of the folder, or use another path with --store", exit: .cannotCreate)
        }
        // A file that is not a store belongs to another program, so its permissions are not checked.
        if let path, error.code != .notAStore { checkPlace(path) }
        note("store", .error, error.message, hint: failure?.hint, exit: failure?.status ?? .internal)
    }

    /// Returns the reason why no store can be created at a path, or nil if one can.
    private static func obstacle(to path: String) -> String? {
        var folder = path.hasPrefix("/") ? path : "./\(path)"
        var status = stat()
        repeat {
            folder = folder.lastIndex(of: "/").map { String(folder[..<$0]) } ?? "."
            if folder.isEmpty { folder = "/" }
            guard stat(folder, &status) != 0 else { break }
            if errno == ENOTDIR { continue }
            guard errno == ENOENT else { return "\(folder): \(String(cString: strerror(errno)).lowercased())" }
        } while folder != "/" && folder != "."
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(folder) is not a directory" }
        return access(folder, W_OK | X_OK) == 0 ? nil : "this user cannot write into \(folder)"
    }

    // MARK: The store

    mutating func checkStore(
        _ path: String, _ statistics: StoreStatistics, _ damaged: Int, _ headerProblem: String? = nil
    ) {
        note(
            "store", .ok,
            "\(path): \(SizeText.count(statistics.queries.count, "query", "queries")), \(SizeText.bytes(statistics.fileBytes)), schema \(statistics.schema)"
        )
        let lists = statistics.queries.map(\.summary.outline)
        let broken = damaged + lists.count { !$0.damaged.isEmpty }
        if let headerProblem {
            note(
                "integrity", .error, headerProblem, hint: "'pagecache verify --repair' repairs the store",
                exit: .unusableData)
        } else if broken > 0 {
            note(
                "integrity", .error, "\(SizeText.count(broken, "query is", "queries are")) damaged",
                hint: "'pagecache verify --repair' repairs the store", exit: .unusableData)
        } else {
            note("integrity", .ok, "no damaged record", hint: "'pagecache verify' also checks every byte")
        }
        checkClock(lists)
        checkPinned(lists)
        let failures = lists.flatMap(\.failures)
        let abandoned = failures.count { $0.nextAttemptAt == nil }
        if failures.isEmpty {
            note("failures", .ok, "no page fails")
        } else {
            note(
                "failures", .warning,
                "\(SizeText.count(failures.count, "page fails", "pages fail"))\(abandoned > 0 ? ", \(SizeText.count(abandoned)) without a scheduled retry" : "")",
                hint: "'pagecache errors' lists them")
        }
    }

    /// Warns about a table that has more than 10,000 dead rows, and more dead rows than rows in use. A working
    /// autovacuum removes dead rows long before that.
    mutating func checkRows(_ counts: [RowCount]) {
        let dead = counts.reduce(0) { $0 + $1.dead }
        let crowded = counts.filter { $0.dead > max($0.live, 10_000) }
        guard let worst = crowded.max(by: { $0.dead < $1.dead }) else {
            return note(
                "dead rows", .ok,
                "\(SizeText.count(dead)) of \(SizeText.count(dead + counts.reduce(0) { $0 + $1.live })) rows")
        }
        note(
            "dead rows", .warning,
            "the table \(worst.table) has \(SizeText.count(worst.dead)) dead rows and \(SizeText.count(worst.live)) in use",
            hint: "check that autovacuum runs at the server, and that no transaction stays open")
    }

    mutating func checkCopy(_ path: String, _ bytes: Int, _ problem: String?) {
        if let problem {
            note(
                "local copy", .warning, "\(path) is not used: \(problem)",
                hint: "name another file in PAGECACHE_LOCAL_COPY; each process needs one of its own")
        } else {
            note("local copy", .ok, "\(path): \(SizeText.bytes(bytes))")
        }
    }

    private mutating func checkClock(_ lists: [ListOutline]) {
        let newest = lists.flatMap { [$0.record.validatedAt, $0.record.createdAt] }.compactMap { $0 }.max()
        if let newest, newest - now > .seconds(60) {
            note(
                "clock", .error,
                "the newest creation or validation of a list is \(TimeText.age(newest - now)) ahead of this machine's clock",
                hint: "set the clock of this machine", exit: .inputOutput)
        } else {
            note("clock", .ok, "\(TimeText.rfc3339(now)); no list was created or validated more than 60 s later")
        }
    }

    mutating func checkPinned(_ lists: [ListOutline]) {
        let pinned = lists.filter(\.record.isPinned)
        let stale = pinned.filter { $0.judgedFreshness(now: now) != .fresh }
        // Only pinned queries count, because syncs of other queries do not show that the timer for `sync --due` runs.
        let last =
            pinned.compactMap(\.record.validatedAt).min().map { "; oldest sync \(TimeText.age(now - $0)) ago" } ?? ""
        if pinned.isEmpty {
            note(
                "pinned", .ok, "no query is pinned",
                hint: "'sync --due' then only retries failed pages and continues interrupted sweeps")
        } else if stale.isEmpty {
            note("pinned", .ok, "\(SizeText.count(pinned.count, "pinned query is", "pinned queries are")) fresh\(last)")
        } else {
            note(
                "pinned", .warning,
                "\(SizeText.count(stale.count)) of \(SizeText.count(pinned.count)) pinned queries \(stale.count == 1 ? "is" : "are") not fresh\(last)",
                hint: "run 'pagecache sync --due' from cron or a timer")
        }
    }

    // MARK: The surroundings

    mutating func checkSurroundings() {
        let files = FileManager.default
        if let path = environment["SSL_CERT_FILE"], !path.isEmpty {
            let problem = CertificateFile.problem(at: path)
            note(
                "certificates", problem == nil ? .ok : .error,
                "SSL_CERT_FILE is \(path)\(problem.map { ", which \($0)" } ?? "")",
                hint: problem.map { _ in "unset it, or name a PEM file with certificates" },
                exit: problem.map { _ in .usage })
        } else if let path = DoctorChecks.bundles.first(where: files.isReadableFile) {
            note("certificates", .ok, path)
        } else {
            note(
                "certificates", .warning, "no certificates were found; https requests will fail",
                hint: "install the package ca-certificates")
        }
        let names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
        let proxies = names.filter { !(environment[$0] ?? "").isEmpty }
        do throws(FetchFailure) {
            _ = try HTTPNetwork(environment: environment)
            note(
                "proxy", .ok,
                proxies.isEmpty
                    ? "none" : "\(proxies.joined(separator: ", ")) \(proxies.count == 1 ? "is" : "are") set")
        } catch {
            note(
                "proxy", .error, error.message, hint: "every sync is refused; correct the variable, or unset it",
                exit: .usage)
        }
        if let unused = ["all_proxy", "ALL_PROXY"].first(where: { !(environment[$0] ?? "").isEmpty }) {
            note("proxy", .warning, "\(unused) is set, and is not used", hint: "set HTTP_PROXY and HTTPS_PROXY")
        }
    }
}
#endif
