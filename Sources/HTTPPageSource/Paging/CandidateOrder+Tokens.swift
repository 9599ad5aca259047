// The order of parameters that may take a token, by the name of the token.
extension CandidateOrder {
    /// Returns the parameters that may take the token, in the order in which they are tried. First come the parameters
    /// of the URL that hold a placeholder (`cursor=*`), then its other cursor parameters, then the names that the token
    /// suggests, then the usual names.
    static func cursors(_ token: ContinuationToken, _ url: OriginURL) -> [String] {
        var names = url.parameters.filter { isPlaceholder($0, for: token) }.map(\.plainName)
        names += url.parameters.map(\.plainName).filter { ParameterNames.isCursor($0) }
        names += nested(token)
        switch EnvelopeMember.plain(token.name) {
        case "endcursor", "nextkey", "nextid": names += ["after", "cursor"]
        // A moment in time: the next page holds older items.
        case "next" where token.number ?? 0 >= 1_000_000_000: names += ["until", "before", "cursor", "after"]
        case "next": names += ["cursor", "page", "after", "next", "offset"]
        case "nextpage": names += ["cursor", "page", token.name, "after", "page_cursor"]
        case "lastevaluatedkey", "lastkey": names += behindKey(token.name)
        case "end": names += ["from", "start", "since"]
        case let name where name.contains("seq") || name.contains("batch"): names += ["since", "from"] + derived(token)
        // The id of the last item: `last_id` suggests `after_id`.
        case let name where name.hasPrefix("last"): names += afterLast(token.name) + derived(token)
        case _: names += derived(token)
        }
        names += ["cursor", "after", "page_token", "pageToken", "token", "continuation", "start", "marker"]
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// Whether a parameter of the caller's URL holds the place of the token: its name is that of a cursor, and its
    /// value leads to page one (`placeholders`). The value `*` also counts if the token's name contains the parameter's
    /// name.
    private static func isPlaceholder(_ parameter: OriginURL.Parameter, for token: ContinuationToken) -> Bool {
        let value = parameter.plainValue, name = EnvelopeMember.plain(parameter.plainName)
        let isNamed = ["cursor", "token", "marker", "mark", "continuation", "after"].contains { name.contains($0) }
        if value == "*" { return isNamed || EnvelopeMember.plain(token.name).contains(name) }
        return isNamed && placeholders.contains(value.lowercased())
    }

    /// Values of a cursor parameter that lead to page one.
    static let placeholders: Set<String> = ["", "*", "null", "initial", "start", "first", "-1", "0", "true"]

    /// The nested forms for a token inside an object of paging: `page: {after: …}` suggests `page[after]`,
    /// `page[cursor]`.
    private static func nested(_ token: ContinuationToken) -> [String] {
        guard let holder = token.holder, ["page", "pagination", "paging"].contains(EnvelopeMember.plain(holder)) else {
            return []
        }
        let bare = EnvelopeMember.plain(token.name).hasPrefix("next") ? "cursor" : token.name
        return ["\(holder)[\(bare)]", "\(holder)[cursor]", "\(holder)[after]"]
    }

    /// Names derived from the name of the token. `next_page_token` suggests `page_token`, then a parameter of its own
    /// name, then the siblings of the derived name, then `page-token` and `pagetoken`. `nextForwardToken` suggests
    /// `nextToken`.
    private static func derived(_ token: ContinuationToken) -> [String] {
        if case .header = token.place { return header(token.name) }
        let name = Substring(token.name)
        var bare = name
        if name.lowercased().hasPrefix("next"), name.count > 4 {
            bare = name.dropFirst(4).drop { $0 == "_" || $0 == "-" }
        } else if name.hasPrefix("_"), name.count > 1 {
            bare = name.dropFirst()
        }
        // `vid-offset` suggests `vidOffset`, and `NextMarker` suggests `Marker`.
        let camel = token.name.contains("-") ? [TokenName.camelCase(token.name)] : []
        let plain =
            bare.first?.isUppercase == true && bare.count < name.count && name.hasPrefix("Next") ? [String(bare)] : []
        let other = bare.contains("_") ? [WordedName(String(bare)).hyphenated, String(bare.filter { $0 != "_" })] : []
        let forward = ["Forward", "_forward"].first { token.name.contains($0) }
        let directed = forward.map { [token.name.replacing($0, with: "")] } ?? []
        return directed + plain + camel + [bare.prefix(1).lowercased() + bare.dropFirst(), token.name]
            + siblings(of: String(bare), like: token.name) + other
    }

    /// Names for a token in a header. Words before the one for a token name the vendor: `X-Nomad-NextToken` suggests
    /// `next_token`, and then `token`.
    private static func header(_ field: String) -> [String] {
        let words = field.lowercased().split(separator: "-").map(String.init)
        let start = words.firstIndex { word in ["next", "continu", "cursor", "marker"].contains { word.contains($0) } }
        var own = words.dropFirst(start ?? 0)
        if let first = own.first, first.hasPrefix("next"), first.count > 4 {
            own = ["next", String(first.dropFirst(4))] + own.dropFirst()
        }
        let bare = own.first == "next" && own.count > 1 ? own.dropFirst() : own
        let names = [own, bare].map { $0.joined(separator: "_") }.filter { !$0.isEmpty }
        // `x-ms-continuationtoken` suggests `continuationToken`: header names have no capitals.
        let last = own.last.map { String($0) } ?? "", stem = "continuation"
        let joined =
            last.hasPrefix(stem) && last.count > stem.count
            ? [stem + last.dropFirst(stem.count).prefix(1).uppercased() + last.dropFirst(stem.count + 1)] : []
        return joined + (start ?? 0 > 1 ? names : names.reversed()) + [own.joined(separator: "-")]
    }

    /// Longer names for a bare `cursor` or `token`: some origins return the short name and expect the long one.
    private static func siblings(of bare: String, like name: String) -> [String] {
        let words: [String] =
            switch bare.lowercased() {
            case "cursor": ["start"]
            case "token": ["pagination", "page"]
            case _: []
            }
        return words.map { joined([$0, bare.lowercased()], like: name) }
    }

    private static func afterLast(_ name: String) -> [String] {
        let rest = name.dropFirst(4)
        return rest.isEmpty ? [] : ["after" + rest]
    }

    /// Returns the names of parameters that may take the last key of a page: the name of the key, then usual names for
    /// the key after which the next page starts.
    private static func behindKey(_ name: String) -> [String] {
        [name, joined(["exclusive", "start", "key"], like: name), joined(["start", "key"], like: name)]
    }

    /// Joins words in the style of `name`: with underscores, or with capitals.
    private static func joined(_ words: [String], like name: String) -> String {
        if name.contains("_") { return words.joined(separator: "_") }
        let text = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return name.first?.isUppercase == true ? text : text.prefix(1).lowercased() + text.dropFirst()
    }
}
