#if Tool
import HTTPPageSource
import PageModel
import PageStore

/// Finds a query by its key, a unique prefix of the key or short id, the short id itself, or any URL of the list.
enum QuerySelector {
    /// Finds the query in a store. Reads one row for each query, whatever the length of the lists.
    /// - Throws: the errors of `find(_:in:otherwise:)` and of the store.
    static func find(_ name: String, in store: any ToolStore) async throws -> QueryRecord {
        try find(name, in: try await store.records())
    }

    /// The outline of the query's list, without items. Reads no other list.
    /// - Throws: the errors of `find(_:in:otherwise:)` and of the store.
    static func outline(_ name: String, in store: any ToolStore) async throws -> ListOutline {
        let records = try await store.records()
        guard let list = try await store.outline(of: try find(name, in: records).id) else {
            throw missing(name, records.map(\.key), nil)
        }
        return list
    }

    /// Finds the query among records.
    /// - Parameter way: the hint for a name that matches no query and is close to none. `nil` means the usual hint.
    /// - Throws: `ToolFailure` with status 66 when no query matches, or 64 when several do.
    static func find(_ name: String, in queries: [QueryRecord], otherwise way: String? = nil) throws -> QueryRecord {
        // The URL may be the one that was synced, with paging and secrets in it.
        let canonical = HTTPSource.key(for: name)?.text
        let exact = queries.filter { $0.key.text == name || $0.key.shortID == name || $0.key.text == canonical }
        if exact.count == 1 { return exact[0] }
        let found =
            exact.isEmpty
            ? queries.filter {
                $0.key.text.hasPrefix(name) || $0.key.shortID.hasPrefix(name)
                    || withoutScheme($0.key.text).hasPrefix(name)
            } : exact
        if found.count == 1, !name.isEmpty { return found[0] }
        guard !found.isEmpty, !name.isEmpty else { throw missing(name, queries.map(\.key), way) }
        throw ToolFailure(
            .usage, "ambiguous_query", "'\(name)' names \(found.count) queries: \(listed(found.map(\.key)))",
            hint: "use an id of these")
    }

    private static func missing(_ name: String, _ keys: [QueryKey], _ way: String?) -> ToolFailure {
        let close = Spelling.suggestions(for: name, among: keys.map(names)).map { keys[$0] }
        let hint =
            !close.isEmpty
            ? "did you mean \(listed(close))?"
            : way
                ?? (keys.isEmpty
                    ? "the store is empty; fill it with 'pagecache sync URL'" : "'pagecache list' shows them")
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
