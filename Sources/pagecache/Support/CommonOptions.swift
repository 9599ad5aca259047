#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The format of results.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table, json, ndjson, csv
}

/// The options of all commands with results.
struct CommonOptions: ParsableArguments {
    @Option(
        name: .long,
        help:
            "The store file, or postgres://… for a store on a server. Default: $PAGECACHE_STORE, else the user's cache directory.",
        completion: .file())
    var store: String?

    @Option(name: .long, help: "The format of results: table, json, ndjson or csv.")
    var format: OutputFormat?

    @Flag(name: .long, help: "Short for --format json.")
    var json = false

    @Flag(
        name: [.short, .long],
        help:
            "Print no notes and no progress. A successful sync prints nothing, except with --json and other formats.")
    var quiet = false

    @Flag(
        name: [.short, .long],
        help: "Print details on standard error: the store, each request, and each failure.")
    var verbose = false

    @Flag(help: "Never prompt.")
    var noInput = false

    @OptionGroup var colours: ColourOptions

    var outputFormat: OutputFormat { namedFormat ?? .table }

    /// The format that the user named. `nil` when none was named.
    var namedFormat: OutputFormat? { json ? .json : format }

    func validate() throws {
        if store?.isEmpty == true {
            throw ValidationError("--store is empty; give the path of a file, or postgres://… for a store on a server")
        }
        if json, let format, format != .json {
            throw ValidationError("--json and --format \(format.rawValue) exclude each other; name one of them")
        }
        if quiet, verbose { throw ValidationError("--quiet and --verbose exclude each other; name one of them") }
        if let problem = place.problem(ProcessInfo.processInfo.environment) { throw ValidationError(problem) }
    }

    /// Applies the options to the terminal. Must be called before any output.
    func apply() {
        let environment = ProcessInfo.processInfo.environment
        Terminal.standard.configure(
            quiet: quiet, json: outputFormat == .json || outputFormat == .ndjson,
            colour: colours.isColoured(environment: environment, isTerminal: Terminal.standard.outputIsTerminal),
            errorColour: colours.isColoured(environment: environment, isTerminal: Terminal.standard.errorIsTerminal),
            verbose: verbose, mayAsk: !noInput,
            storeOption: StoreHint.option(for: store, variable: environment["PAGECACHE_STORE"]))
        Terminal.standard.detail("the store is \(place.name)")
        if store != nil, place.hasPassword {
            Terminal.standard.note(
                "other users of this machine can read the password on the command line; use PAGECACHE_STORE or ~/.pgpass"
            )
        }
    }

    /// The path or the address of the store: `--store`, else `PAGECACHE_STORE`, else a file in the user's cache
    /// directory (XDG Base Directory Specification).
    var storePath: String {
        let environment = ProcessInfo.processInfo.environment
        func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let store { return store }
        if let path = given("PAGECACHE_STORE") { return path }
        // The specification says to ignore relative paths in XDG_CACHE_HOME.
        if let cache = given("XDG_CACHE_HOME"), cache.hasPrefix("/") { return "\(cache)/pagecache/store.sqlite" }
        return "\(given("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path)/.cache/pagecache/store.sqlite"
    }

    /// The place of the store: a file, or a server.
    var place: StorePlace { StorePlace(storePath) }

    /// Opens the store. Commands that only read pass `.reading`, and then need no permission to write.
    func openStore(_ access: StoreAccess) async throws -> any ToolStore {
        try await place.openShowingWait(access)
    }

    /// Opens the store for this work, and closes it in every case.
    /// - Parameter checkingPlace: whether a store that is no longer at its path after the work is an error.
    func withStore<Value>(
        _ access: StoreAccess, checkingPlace: Bool = false, _ work: (any ToolStore) async throws -> Value
    ) async throws -> Value {
        let store = try await openStore(access)
        let value = try await store.closed(after: work)
        if checkingPlace { try await store.closeInPlace() }
        return value
    }

    /// The path of the store's file, for actions that need one.
    /// - Throws: `ToolFailure` with status 64 for a store on a server.
    func storeFile(for action: String) throws -> String {
        if let path = place.path { return path }
        throw ToolFailure(.usage, "usage", "\(action) needs a store in a file; \(place.name) is on a server")
    }
}

/// A duration as people write it: `30s`, `5m`, `2h`, `7d`, `1w`, `250ms`, `1y` (365 days), or several in a row as in
/// `1h30m`.
struct DurationArgument: ExpressibleByArgument, Hashable {
    var duration: Duration
    /// The text as it was written. `--help` shows it for a default.
    var defaultValueDescription: String

    init?(argument: String) {
        guard let seconds = DurationArgument.seconds(argument), seconds < 1e10 else { return nil }
        duration = .milliseconds(Int64(seconds * 1_000))
        defaultValueDescription = argument
    }

    /// Returns the seconds of a text in this form, without an upper limit. Returns nil for another text.
    static func seconds(_ argument: String) -> Double? {
        let units: [Substring: Double] = [
            "ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000,
        ]
        var rest = argument[...]
        var sum = 0.0
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(number.count)
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard let count = Double(number), let seconds = units[unit] else { return nil }
            sum += count * seconds
        }
        return argument.isEmpty ? nil : sum
    }
}

/// A size as people write it. The units of `500M`, `500MB` and `2g` are powers of 1,000, and that of `500MiB` is a
/// power of 1,024.
struct SizeArgument: ExpressibleByArgument, Hashable {
    var bytes: Int

    init?(argument: String) {
        guard let size = SizeArgument.size(argument), size < 1e18 else { return nil }
        bytes = Int(size)
    }

    /// Returns the bytes of a text in this form, without an upper limit. Returns nil for another text.
    static func size(_ argument: String) -> Double? {
        let number = argument.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        var unit = argument.dropFirst(number.count).lowercased()
        let isBinary = unit.hasSuffix("ib")
        if unit.hasSuffix("b") { unit.removeLast(isBinary ? 2 : 1) }
        guard let count = Double(number), let power = ["", "k", "m", "g", "t", "p"].firstIndex(of: unit),
            !isBinary || power > 0
        else { return nil }
        return (0..<power).reduce(count) { size, _ in size * (isBinary ? 1_024 : 1_000) }
    }
}

extension JSONOutput {
    /// A time in RFC 3339, UTC, with milliseconds. `null` for nil.
    static func time(_ moment: Timestamp?) -> JSONOutput {
        moment.map { .string(TimeText.rfc3339($0)) } ?? .null
    }
}

/// Times for people and scripts.
enum TimeText {
    static func rfc3339(_ moment: Timestamp) -> String {
        // Half a millisecond is added, because the formatter truncates, and the binary fraction can be slightly below
        // the millisecond.
        Date(timeIntervalSince1970: (Double(moment.milliseconds) + 0.5) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// An age in one unit: `12 s`, `3 min`, `5 h`, `2 d`.
    static func age(_ duration: Duration) -> String { text(duration.wholeMilliseconds / 1_000) }

    /// The time until a later moment in one unit, rounded up to whole seconds: a wait of 0 s would be over.
    static func until(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        return text(milliseconds / 1_000 + (milliseconds % 1_000 > 0 ? 1 : 0))
    }

    private static func text(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(max(seconds, 0)) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    static func seconds(_ duration: Duration) -> String {
        let tenths = duration.wholeMilliseconds / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }
}

/// The sentence about damaged positions.
enum DamageText {
    static func remedy(_ record: QueryRecord) -> String {
        "'\(record.syncCommand)' fetches them again, and 'pagecache verify --repair' repairs the store"
    }

    /// - Parameter damaged: the ranges that a window or an outline reports. Not empty.
    static func sentence(_ damaged: [Range<Int>]) -> String {
        let count = damaged.reduce(0) { $0 + $1.count }
        let first = SizeText.count(damaged.map(\.lowerBound).min() ?? 0)
        guard count > 0 else {
            return "the records of the list are damaged near position \(first), though no item is missing there"
        }
        return
            "\(SizeText.count(count)) \(count == 1 ? "item" : "items") from position \(first) on \(count == 1 ? "is" : "are") damaged and \(count == 1 ? "was" : "were") left out"
    }
}

enum SizeText {
    static func bytes(_ count: Int) -> String {
        let units = ["B", "KB", "MB", "GB", "TB"]
        var size = Double(count)
        var unit = 0
        while size >= 1_000, unit < units.count - 1 {
            size /= 1_000
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\((size * 10).rounded() / 10) \(units[unit])"
    }

    /// `12,345`
    static func count(_ number: Int) -> String {
        var digits = String(abs(number))
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (number < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// `1 page`, `12,345 pages`
    static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(count(number)) \(number == 1 ? one : many)"
    }
}
#endif
