#if Tool
import HTTPPageSource
import PageModel
import PageStore

/// Finds a query by its key, by its short id, or by a unique prefix of either. If the key is a URL, any URL of the list
/// names the query, too.
enum QuerySelector {
    /// Finds the query in a store. Reads one row for each query, whatever the length of the lists.
    /// - Throws: the errors of `find(_:in:otherwise:)` and of the store.
    static func find(_ name: String, in store: any ToolStore) async throws -> QueryRecord {
        try find(name, in: try await store.storedQueries())
    }

    /// The outline of the query's list, without items. Reads no other list.
    /// - Throws: the errors of `find(_:in:otherwise:)` and of the store.
    static func outline(_ name: String, in store: any ToolStore) async throws -> ListOutline {
        let stored = try await store.storedQueries()
        guard let list = try await store.outline(of: try find(name, in: stored).id) else {
            throw missing(name, stored.records.map(\.key), nil)
        }
        return list
    }

    /// Finds the query among the stored ones. Warns about damaged records.
    /// - Throws: `ToolFailure` with status 65 when no sound query matches and a record is damaged; otherwise the errors
    ///   of `find(_:among:otherwise:)`.
    static func find(_ name: String, in stored: StoredQueries, otherwise way: String? = nil) throws -> QueryRecord {
        let damaged = stored.damagedCount
        do {
            let found = try find(name, among: stored.records, otherwise: way)
            DamagedRecords.warn(damaged)
            return found
        } catch let failure as ToolFailure where failure.status == .notFound && damaged > 0 {
            throw DamagedRecords.failure(damaged)
        }
    }

    /// Finds the query among records.
    /// - Parameter way: the hint for a name that matches no query and is close to none. `nil` means the usual hint.
    /// - Throws: `ToolFailure` with status 66 when no query matches, or 64 when several do.
    static func find(_ name: String, among queries: [QueryRecord], otherwise way: String? = nil) throws -> QueryRecord {
        let found = matches(name, queries.map(\.key)).map { queries[$0] }
        if found.count == 1, !name.isEmpty || found[0].key.text.isEmpty { return found[0] }
        guard !found.isEmpty, !name.isEmpty else { throw missing(name, queries.map(\.key), way) }
        throw ToolFailure(
            .usage, "ambiguous_query", "'\(name)' names \(found.count) queries: \(listed(found.map(\.key)))",
            hint: "use one of these ids")
    }

    /// Returns the indices of the keys with this name: of the exact matches, or else of those with this prefix. The scheme
    /// of a key may be left out.
    static func matches(_ name: String, _ keys: [QueryKey]) -> [Int] {
        // The URL may be the one that was synced, with paging and secrets in it.
        let canonical = HTTPSource.key(for: name)?.text
        let exact = keys.indices.filter {
            keys[$0].text == name || keys[$0].shortID == name || keys[$0].text == canonical
                || withoutScheme(keys[$0].text) == name
        }
        guard exact.isEmpty else { return exact }
        return keys.indices.filter {
            keys[$0].text.hasPrefix(name) || keys[$0].shortID.hasPrefix(name)
                || withoutScheme(keys[$0].text).hasPrefix(name)
        }
    }

    private static func missing(_ name: String, _ keys: [QueryKey], _ way: String?) -> ToolFailure {
        let close = Spelling.suggestions(for: name, among: keys.map(names)).map { keys[$0] }
        let hint =
            !close.isEmpty
            ? "did you mean \(listed(close))?"
            : way
                ?? (keys.isEmpty
                    ? "the store is empty; fill it with 'pagecache sync URL'"
                    : "'pagecache list' shows the stored queries")
        return ToolFailure(.notFound, "no_such_query", "no query is named '\(name)'", hint: hint)
    }

    /// Common names of a list: its id, its URL with and without the scheme, and the end of its path.
    private static func names(of key: QueryKey) -> [String] {
        let place = withoutScheme(key.text)
        let path = place.prefix { $0 != "?" }
        let end = path.split(separator: "/").last.map(String.init)
        return [key.shortID, key.text, String(place), String(path)] + (end.map { [$0] } ?? [])
    }

    /// The scope is shown, because the same key may exist in several scopes.
    private static func listed(_ keys: [QueryKey]) -> String {
        let shown = keys.prefix(5).map {
            "\($0.shortID) – \($0.scope.isEmpty ? "" : "\(shortened($0.scope)): ")\(shortened($0.text))"
        }
        return shown.joined(separator: ", ") + (keys.count > 5 ? ", …" : "")
    }

    private static func shortened(_ text: String) -> String { text.count > 60 ? text.prefix(59) + "…" : text }

    private static func withoutScheme(_ key: String) -> Substring {
        key.firstRange(of: "://").map { key[$0.upperBound...] } ?? key[...]
    }
}
#endif
