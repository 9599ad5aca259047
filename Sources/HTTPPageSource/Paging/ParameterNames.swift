/// Names of URL parameters by their usual meaning. In the arrays, earlier names win.
enum ParameterNames {
    static let offset = [
        "offset", "skip", "start", "startIndex", "start_index", "startAt", "_start", "from", "first", "$skip",
        "page[offset]",
        "pagination[start]", "resultOffset", "$offset", "retstart", "startRecord", "firstResult",
    ]
    static let page = [
        "page", "_page", "page_number", "pageNumber", "pageIndex", "pageNo", "page_no", "p", "pg", "page[number]",
        "pagination[page]", "@page_index", "page_index",
    ]
    static let limit = [
        "limit", "per_page", "page_size", "pageSize", "perPage", "_limit", "_per_page", "_size", "size", "maxResults",
        "max_results",
        "hitsPerPage", "itemsPerPage", "resultRecordCount", "$top", "page[size]", "page[limit]", "pagination[pageSize]",
        "pagination[limit]", "rows", "take", "top", "n", "count", "$limit", "max", "ps", "retmax",
        "@page_size", "pagelen", "maxRecords", "num", "pagesize",
    ]
    /// Parameters that some origins count from 1.
    static let countedFromOne: Set<String> = ["startIndex", "start_index", "start"]
    /// Parameters for the last item's id or sort value.
    static let keyset = ["after", "starting_after", "last", "marker", "since_id", "search_after"]
    private static let cursor = [
        "cursor", "start_cursor", "_next", "_token", "page_token", "pageToken", "pagination_token", "next_token",
        "nextToken", "page_info",
        "page[after]", "page[cursor]", "cursorMark", "after_id", "$skiptoken", "continuation", "continue",
        "starting_after", "ending_before",
        "last",
    ]

    /// Whether a parameter in the caller's URL is a likely cursor. Its presence there is a strong hint.
    static func isCursor(_ name: String) -> Bool { cursor.contains(name) }

    /// The parameter of a URL that holds the page size.
    static func size(in url: OriginURL) -> String? { limit.first { url.value(of: $0).flatMap { Int($0) } != nil } }

    /// Whether a name is left out of a query's key. Page position and page size are not part of the identity of a list.
    /// Names that other APIs use as filters (`from`, `first`, `count`, `n`, `p`, `last`…) are kept unless the
    /// configuration names them.
    static func isPaging(_ name: String) -> Bool {
        let ambiguous: Set<String> = [
            "start", "startAt", "from", "first", "p", "pg", "size", "rows", "take", "top", "n", "count", "last",
            "continue", "max", "ps", "num", "page_index",
        ]
        return (offset + page + limit + cursor).contains(name) && !ambiguous.contains(name)
    }

    /// Whether a parameter is a secret, which is never stored and never logged (R45). A name that also has ordinary
    /// meanings (`key=DE`, `token=2`) counts only with a value of at least 16 bytes.
    static func isSecret(_ parameter: OriginURL.Parameter) -> Bool {
        let plain = parameter.plainName.lowercased().filter { $0 != "_" && $0 != "-" }
        let ambiguous: Set<String> = ["token", "key", "sig", "sid", "session", "code"]
        if ambiguous.contains(plain) { return parameter.plainValue.utf8.count >= 16 }
        let exact: Set<String> = [
            "auth", "authorization", "signature", "secret", "password", "passwd", "pwd", "jwt", "sessionid",
            "credential",
            "credentials",
        ]
        let parts = [
            "apikey", "accesskey", "accesstoken", "authtoken", "clientsecret", "idtoken", "refreshtoken", "privatekey",
            "securitytoken", "xamzsignature", "xamzcredential", "password",
        ]
        return exact.contains(plain) || parts.contains { plain.contains($0) }
    }

    /// Whether a header identifies the caller.
    static func isCredentialHeader(_ name: String) -> Bool {
        let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
        return plain == "cookie" || ["auth", "token", "apikey", "secret", "session"].contains { plain.contains($0) }
    }
}
