#if Tool
import HTTPPageSource
import PageModel

/// Finds the query that somebody means: by its key, by a unique prefix of it, by its short id, or by any URL of it.
enum QuerySelector {
    static func find(_ name: String, in queries: [QuerySummary]) throws -> QuerySummary {
        func key(_ query: QuerySummary) -> QueryKey { query.outline.record.key }
        // The URL as it was synced, with paging and secrets in it.
        let canonical = HTTPPageSource.key(for: name)?.text
        let exact = queries.filter { key($0).text == name || key($0).shortID == name || key($0).text == canonical }
        if exact.count == 1 { return exact[0] }
        let found = exact.isEmpty
            ? queries.filter {
                key($0).text.hasPrefix(name) || key($0).shortID.hasPrefix(name) || withoutScheme(key($0).text).hasPrefix(name)
            } : exact
        if found.count == 1, !name.isEmpty { return found[0] }
        guard !found.isEmpty, !name.isEmpty else {
            throw ToolFailure(.notFound, "no_such_query", "no query is named '\(name)'", hint: "'pagecache list' shows them")
        }
        let ids = found.prefix(5).map { key($0).shortID }.joined(separator: ", ")
        throw ToolFailure(
            .usage, "ambiguous_query", "'\(name)' names \(found.count) queries: \(ids)\(found.count > 5 ? ", …" : "")",
            hint: "use an id of these")
    }

    private static func withoutScheme(_ key: String) -> Substring {
        key.firstRange(of: "://").map { key[$0.upperBound...] } ?? key[...]
    }
}
#endif
