#if Tool
import PageModel
import PageStore

#if PostgreSQL
import PostgresPageStore
#endif

/// The exit codes of the tool (sysexits(3)). Scripts depend on them.
enum ExitStatus: Int32 {
    case done = 0
    /// `diff` found changes.
    case changed = 1
    case usage = 64
    case unusableData = 65
    case notFound = 66
    case unreachable = 69
    case `internal` = 70
    case cannotCreate = 73
    case inputOutput = 74
    case incomplete = 75
    case permission = 77
    case newerSchema = 78
}

/// A failure in one line: the problem, its subject, and a hint at the remedy.
struct ToolFailure: Error {
    var status: ExitStatus
    /// The code for scripts. It is stable.
    var code: String
    var message: String
    var hint: String?

    init(_ status: ExitStatus, _ code: String, _ message: String, hint: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// The failure that the tool reports for an error of the libraries. Returns nil for other errors.
    init?(_ error: any Error) {
        switch error {
        case let failure as ToolFailure: self = failure
        case let error as StorageError: self.init(storage: error)
        default: return nil
        }
    }

    private init(storage error: StorageError) {
        let remedy = (error.cause as? SchemaChange).map { ToolFailure.remedy(for: $0) }
        let (status, hint): (ExitStatus, String?) =
            switch error.code {
            case _ where remedy != nil: (.unusableData, remedy)
            case .notFound where ToolFailure.serverCode(of: error) == "no_such_database":
                (.notFound, "create the database with CREATE DATABASE, or use another store with --store")
            case .notFound: (.notFound, "create it with 'pagecache sync URL', or use another store with --store")
            case .cannotCreate where ToolFailure.serverCode(of: error) == "invalid_connection_string":
                (.usage, "check the names of its parameters, and write '=' in a value as %3D and a space as %20")
            case .cannotCreate: (.cannotCreate, "use another store with --store")
            case .notAStore where error.message.contains("(a hard link)"):
                (.unusableData, "remove the other name, and run the command again")
            case .notAStore where error.cause is EarlierBuild:
                (.unusableData, "the file is unchanged; use the build that made it, or another store with --store")
            case .notAStore where error.message.hasSuffix(ToolFailure.directory):
                (.usage, ToolFailure.fileHint(in: error.message.dropLast(ToolFailure.directory.count)))
            case .notAStore where error.message.hasSuffix(", not a store"):
                (.usage, "give the path of a regular file with --store")
            case .notAStore: (.unusableData, "nothing was changed; use another store with --store")
            case .newerSchema: (.newerSchema, "the store is unchanged; use a newer pagecache")
            case .damaged, .tookTooLong:
                (.unusableData, "'pagecache verify' checks the store, and 'pagecache verify --repair' may repair it")
            case .foreignLog where error.message.contains("-journal does not belong "):
                (.unusableData, "move that file elsewhere, and run the command again")
            case .foreignLog:
                (.unusableData, "move that file and the one that ends with -shm elsewhere, and run the command again")
            case .strayFile: (.unusableData, nil)
            case .danglingLink: (.notFound, nil)
            case .tooLarge: (.unusableData, nil)
            case .moved where error.message.contains("was replaced by another file"):
                (.incomplete, "run the command again to use the file that is at this path now")
            case .moved where error.message.contains("beside the store"):
                (.incomplete, "end the processes that use the store, and run the command again")
            case .moved:
                (.incomplete, "'pagecache sync URL' creates a new store if there is none at this path")
            case .unavailable:
                (.unreachable, "check that the address is right, and that the server runs and has connections left")
            case .busy where error.message.contains("waits for its standby"):
                (.incomplete, "start the standby, or change synchronous_standby_names at the server")
            case .busy where ToolFailure.serverCode(of: error) == "deadline":
                (.incomplete, "the server does not answer, or other processes are writing; try again")
            case .busy: (.incomplete, "another process may be writing; try again")
            case .full: (.inputOutput, "free some space; stored pages are safe")
            case .inputOutput: (.inputOutput, nil)
            case .permission where ToolFailure.serverCode(of: error) == "read_only":
                (.permission, "the server is a standby, or its sessions are read-only; use the address of the primary")
            case .permission where ToolFailure.serverCode(of: error) == "authentication":
                (.permission, "check the user and the password in the address of the store")
            case .permission: (.permission, "check the permissions of the store")
            default: (.internal, nil)
            }
        self.init(status, error.code.description, error.message, hint: hint)
    }

    /// The code of the server's error that caused this one. Returns nil when no server caused it.
    private static func serverCode(of error: StorageError) -> String? {
        #if PostgreSQL
        return (error.cause as? PostgresError)?.code.rawValue
        #else
        return nil
        #endif
    }

    /// The end of the message about a path that leads to a directory.
    private static let directory = " is a directory, not a store"

    private static func fileHint(in directory: Substring) -> String {
        "give the path of a file, such as \(directory)/store.sqlite"
    }

    /// The hint for a changed schema. Every remedy keeps the readable rows of the store.
    static func remedy(for change: SchemaChange) -> String {
        if change.isRepairable { return "'pagecache verify --repair' creates it again" }
        if let removal = change.removal { return "remove it with another SQLite program: \(removal)" }
        return "'pagecache verify --repair' copies the readable rows to a new file, and keeps the old one"
    }

    /// The hint for a list whose record a repair has rebuilt.
    /// - Parameter cached: the id of the list. `nil` when none of its items are cached. The hint then refers to the
    ///   command that failed.
    private static func rebindHint(_ cached: String?) -> String {
        let command = cached.map { "'pagecache sync \($0) --rebind'" } ?? "the same command with --rebind"
        return "\(command) does so; add --bearer-env or --header-env if the origin needs a credential"
    }

    static let credentialHint = "give a credential with --bearer-env or --header-env"

    /// The failure of a fetch. The status of a retryable failure depends on whether items of the list are cached.
    /// - Parameter cached: the id of the list. `nil` when none of its items are cached.
    init(fetching url: String, _ failure: FetchFailure, cached: String?) {
        let status: ExitStatus =
            if failure.failureClass == .forbidden {
                .permission
            } else if failure.isRetryable {
                cached == nil ? .unreachable : .incomplete
            } else {
                .unusableData
            }
        let hint: String? =
            switch failure.failureClass {
            case .forbidden where failure.message.hasPrefix("a repair removed"):
                ToolFailure.rebindHint(cached)
            case .forbidden where failure.message.contains(" is needed again"): nil
            case .forbidden where failure.message.hasPrefix("this list needs the credential"): nil
            case .forbidden: ToolFailure.credentialHint
            case .transport: "check the host and the port of the URL, and the network"
            case .timeout where failure.message.hasPrefix("the answer arrives too slowly"): "try again later"
            case .timeout: "try again later, or with a longer --timeout"
            case .rejected where failure.httpStatus == 406: "name a media type of the origin with --header 'Accept: …'"
            case .rejected where failure.httpStatus ?? 0 >= 400: "check the URL"
            case .undecodable
            where failure.message.hasPrefix("the answer has nothing at ")
                || failure.message.hasSuffix(" is not an array"):
                "name the place of the items with --items"
            case .undecodable where failure.message.hasPrefix("the answer has no items at "):
                "name their place with --items, or let detection find it with --paging auto"
            case .limitExceeded where failure.message.hasSuffix("request smaller pages"):
                "set a smaller size with --page-size"
            case .throttled, .server: "try again later"
            default: nil
            }
        let show = cached.map { "'pagecache show \($0)' shows the cached items" }
        let hints = [hint, show].compactMap(\.self)
        self.init(
            status, failure.failureClass.rawValue, "\(url): \(failure.shownMessage)",
            hint: hints.isEmpty ? nil : hints.joined(separator: "; "))
    }
}
#endif
