/// The name of a member or a header, read as the name of a token for the next page.
struct TokenName {
    private let plain: String

    init(_ name: String) { plain = EnvelopeMember.plain(name) }

    private static let strongWords = ["next", "cursor", "continu"]
    private static let weakWords = [
        "after", "older", "marker", "batch", "seq", "bookmark", "pagetoken", "scrolltoken", "pagekey", "pageoffset",
        "iterator",
    ]
    /// Names of weak tokens that count only as the whole name: longer names with these words mean other things.
    private static let weakNames: Set<String> = ["position"]
    /// Words in the names of members that are not tokens: they hold a count, a time or the id of another thing, or lead
    /// to the page before.
    private static let otherWords = [
        "prev", "before", "backward", "range", "first", "start", "self", "rate", "limit", "retry", "time", "date",
        "sync",
        "request",
        "size", "count", "length", "created", "updated", "run", "trace", "reset", "total", "consequence", "sequencer",
        "hasnext", "hasmore", "hash", "etag",
    ]

    /// The name with capitals instead of hyphens: `vid-offset` becomes `vidOffset`.
    static func camelCase(_ name: String) -> String {
        let words = name.split(separator: "-")
        return
            (words.prefix(1).map { String($0) } + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() })
            .joined()
    }

    /// Whether the name can be that of a token.
    var isToken: Bool {
        TokenName.weakNames.contains(plain)
            || (TokenName.strongWords + TokenName.weakWords).contains { plain.contains($0) }
                && !TokenName.otherWords.contains { plain.contains($0) }
    }

    /// Whether a token of this name shows that more items follow. Other tokens may also be on the last page, and only
    /// suggest a parameter.
    var isStrong: Bool {
        TokenName.strongWords.contains { plain.contains($0) } || plain == "lastevaluatedkey"
            || plain == "resumptiontoken"
    }
}
