/// Names of URL parameters by what they usually mean. Lists, in the order in which they are believed.
enum ParameterNames {
    static let offset = [
        "offset", "skip", "start", "startIndex", "start_index", "startAt", "_start", "from", "first", "$skip",
        "page[offset]",
        "pagination[start]", "resultOffset",
    ]
    static let page = [
        "page", "_page", "page_number", "pageNumber", "pageIndex", "pageNo", "page_no", "p", "pg", "page[number]",
        "pagination[page]",
    ]
    static let limit = [
        "limit", "per_page", "page_size", "pageSize", "perPage", "_limit", "_per_page", "_size", "size", "maxResults",
        "max_results",
        "hitsPerPage", "itemsPerPage", "resultRecordCount", "$top", "page[size]", "page[limit]", "pagination[pageSize]",
        "pagination[limit]", "rows", "take", "top", "n", "count",
    ]
    /// Where some count positions from 1.
    static let countedFromOne: Set<String> = ["startIndex", "start_index", "start"]
    /// What takes the last item's id or sort value.
    static let keyset = ["after", "starting_after", "last", "marker", "since_id", "search_after"]
    private static let cursor = [
        "cursor", "start_cursor", "_next", "_token", "page_token", "pageToken", "pagination_token", "next_token",
        "nextToken", "page_info",
        "page[after]", "page[cursor]", "$skiptoken", "continuation", "continue", "starting_after", "ending_before",
        "last",
    ]

    /// Whether a parameter of a URL is worth trying first for a cursor: the caller has written it for a reason.
    static func isCursor(_ name: String) -> Bool { cursor.contains(name) }

    /// The parameter of a URL that says how long its pages are.
    static func size(in url: OriginURL) -> String? { limit.first { url.value(of: $0).flatMap { Int($0) } != nil } }

    /// Left out of a query's key: which page it is and how long pages are is not what the list is. Names that other
    /// APIs filter by (`from`, `first`, `count`, `n`, `p`, `last`…) are kept unless they are given as flags.
    static func isPaging(_ name: String) -> Bool {
        let ambiguous: Set<String> = [
            "start", "startAt", "from", "first", "p", "pg", "size", "rows", "take", "top", "n", "count", "last",
            "continue",
        ]
        return (offset + page + limit + cursor).contains(name) && !ambiguous.contains(name)
    }

    /// Never stored, never logged (R45). Names that also have ordinary meanings (`key=DE`, `token=2`) count when the
    /// value is as long as secrets are.
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

    /// Headers that say who is asking.
    static func isCredentialHeader(_ name: String) -> Bool {
        let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
        return plain == "cookie" || ["auth", "token", "apikey", "secret", "session"].contains { plain.contains($0) }
    }
}
