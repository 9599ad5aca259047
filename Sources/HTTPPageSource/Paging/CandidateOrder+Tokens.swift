// The order of parameters that may take a token, by the name of the token.
extension CandidateOrder {
    /// Cursor parameters of the URL first, then the names that the token suggests, then the usual names.
    static func cursors(_ token: ContinuationToken, _ url: OriginURL) -> [String] {
        var names = url.parameters.map(\.plainName).filter { ParameterNames.isCursor($0) }
        switch EnvelopeMember.plain(token.name) {
        case "endcursor", "nextkey", "nextid": names += ["after", "cursor"]
        case "next", "nextpage": names += ["cursor", "page", "after", "next"]
        case "lastevaluatedkey", "lastkey": names += behindKey(token.name)
        case _: names += derived(token)
        }
        names += ["cursor", "after", "page_token", "pageToken", "token", "continuation", "start", "marker"]
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// Names derived from the name of the token. `next_page_token` suggests `page_token`, then a parameter of its own
    /// name, then the siblings of the derived name.
    private static func derived(_ token: ContinuationToken) -> [String] {
        var name = Substring(token.name)
        var isHeader = false
        if case .header = token.place {
            isHeader = true
            if name.lowercased().hasPrefix("x-") { name = name.dropFirst(2) }
        }
        var bare = name
        if name.lowercased().hasPrefix("next"), name.count > 4 {
            bare = name.dropFirst(4).drop { $0 == "_" || $0 == "-" }
        } else if name.hasPrefix("_"), name.count > 1 {
            bare = name.dropFirst()
        }
        if isHeader { return [bare.lowercased().replacing("-", with: "_")] }
        return [bare.prefix(1).lowercased() + bare.dropFirst(), token.name]
            + siblings(of: String(bare), like: token.name)
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

    /// Parameters for the last key of a page: its own name, then names for the key that the next page starts behind.
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
