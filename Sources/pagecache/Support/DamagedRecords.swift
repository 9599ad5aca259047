#if Tool
import PageModel

/// The messages about queries whose records are damaged.
///
/// A command for all queries processes the sound ones first, and then ends with 65. A command for one query works, with
/// a warning, if the record of that query is sound. Otherwise the given name may be that of a damaged record, and the
/// command ends with 65.
enum DamagedRecords {
    /// - Parameter count: the number of damaged records, at least 1.
    static func failure(_ count: Int) -> ToolFailure {
        ToolFailure(.unusableData, "damaged", sentence(count), hint: remedy(count))
    }

    static func warn(_ count: Int) {
        guard count > 0 else { return }
        Terminal.standard.warn("\(sentence(count)); \(remedy(count))")
    }

    /// Throws the failure at the end of a command that has processed all other queries. Does nothing when `count` is 0.
    static func end(_ count: Int) throws {
        if count > 0 { throw failure(count) }
    }

    static func sentence(_ count: Int) -> String {
        count == 1 ? "the record of 1 query is damaged" : "the records of \(SizeText.count(count)) queries are damaged"
    }

    static func remedy(_ count: Int) -> String {
        "'pagecache verify --repair' repairs \(count == 1 ? "it" : "them")"
    }

    /// The failure for a list whose paging profile was lost in a repair, and whose key is not a URL.
    static func lostDescription(of key: QueryKey) -> ToolFailure {
        ToolFailure(
            .unusableData, "description_lost", "a repair could not restore the URL of '\(key.text)'",
            hint: "sync it with its URL and \(options(of: key))")
    }

    fileprivate static func options(of key: QueryKey) -> String {
        "--key \(key.text)\(key.scope.isEmpty ? "" : " --scope \(key.scope)")"
    }
}

extension QueryRecord {
    /// The next step for a list whose end is not known.
    var nextStep: String {
        isOnePage
            ? "page one may be a part of the list; '\(syncCommand) --paging none' accepts it as the whole list"
            : "'\(syncCommand)' continues"
    }

    /// The command that fetches the list. After a repair that has lost the paging profile, the command needs `--rebind`
    /// (R45). If the key is not a URL, the command needs the URL and the key instead.
    var syncCommand: String {
        guard isDescriptionLost else { return "pagecache sync \(key.shortID)" }
        return ListRunner.url(of: self) == nil
            ? "pagecache sync URL \(DamagedRecords.options(of: key))" : "pagecache sync \(key.shortID) --rebind"
    }
}
#endif
