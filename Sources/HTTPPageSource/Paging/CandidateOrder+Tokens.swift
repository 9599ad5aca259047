// Which parameter takes a token: by what the token is called.
extension CandidateOrder {
    /// First the parameters of the URL that are such; then what the name suggests; then the usual ones.
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

    /// `next_page_token` goes into `page_token`, else into a parameter of its own name, else into one that says where
    /// to start.
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

    /// A bare `cursor` or `token` is often said more fully on the way back.
    private static func siblings(of bare: String, like name: String) -> [String] {
        let words: [String] =
            switch bare.lowercased() {
            case "cursor": ["start"]
            case "token": ["pagination", "page"]
            case _: []
            }
        return words.map { joined([$0, bare.lowercased()], like: name) }
    }

    /// The key that a page ended with, on its way back: by its own name, or as the one that the next page starts
    /// behind.
    private static func behindKey(_ name: String) -> [String] {
        [name, joined(["exclusive", "start", "key"], like: name), joined(["start", "key"], like: name)]
    }

    /// Words written as `name` is: with underscores, or with capitals.
    private static func joined(_ words: [String], like name: String) -> String {
        if name.contains("_") { return words.joined(separator: "_") }
        let text = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return name.first?.isUppercase == true ? text : text.prefix(1).lowercased() + text.dropFirst()
    }
}
