/// The statement of a member of the envelope about the rest of the list. The name of the member decides which one
/// (R24).
///
/// Some statements hold in both directions: `has_more: false` ends the list. Others hold in one: `incomplete_results:
/// true` calls the answer a part, while `false` only says that the underlying search ended.
enum MoreStatement {
    /// True while more items follow, false on the last page.
    case more
    /// True on the last page, false while more items follow.
    case last
    /// `true` means that the answers are a part of the list, whatever the paging says. `false` has no meaning.
    case part
    /// `false` means that the answers are a part of the list, whatever the paging says. `true` has no meaning.
    case whole

    /// The names, in lower case and without `_`, `-`, `@` and `$`.
    private static let names: [String: MoreStatement] = {
        let all: [(MoreStatement, [String])] = [
            (
                .more,
                [
                    "hasmore", "hasnext", "hasnextpage", "hasmoreitems", "hasmoreresults", "havemore",
                    "havemoreresults",
                    "havenext", "more", "moreresults", "moreavailable", "moreitems", "morepages", "morerecords",
                    "moreitemsincollection", "istruncated",
                    "truncated", "exceededtransferlimit",
                ]
            ),
            (
                .last,
                [
                    "islast", "islastpage", "last", "lastpage", "done", "endoflist", "endofstream", "endofresults",
                    "isend", "eof", "exhausted", "isexhausted", "nomore", "nomoreresults", "nomoreitems", "reachedend",
                    "endreached", "atend",
                ]
            ),
            (
                .part,
                [
                    "incompleteresults", "incomplete", "isincomplete", "partial", "ispartial", "partialresults",
                    "limitreached", "limitexceeded", "overflow", "overflowed", "resultslimited",
                ]
            ),
            (.whole, ["complete", "iscomplete", "finished", "isfinished", "allresults", "allreturned"]),
        ]
        return Dictionary(uniqueKeysWithValues: all.flatMap { kind, names in names.map { ($0, kind) } })
    }()

    /// The statement of a member with this plain name. Returns nil for any other name.
    static func named(_ plain: String) -> MoreStatement? {
        if let known = names[plain] { return known }
        return ["hasmore", "hasnext", "havemore"].contains { plain.hasPrefix($0) } ? .more : nil
    }

    /// Whether a name can only refer to the list. `truncated: false` or `done: true` may refer to a text or to a task.
    static func isPlain(_ plain: String) -> Bool {
        guard !plain.contains("truncated") else { return false }
        return ["has", "have", "is", "nomore", "next", "lastpage", "endof"].contains { plain.hasPrefix($0) }
            || plain.hasPrefix("more") && plain != "more"
    }

    /// Whether more items follow, by the value of the member. `nil` when the value says nothing about it.
    func hasMore(_ truth: Bool) -> Bool? {
        switch self {
        case .more: truth
        case .last: !truth
        case .part, .whole: nil
        }
    }

    /// Whether the value calls the answers a part of the list.
    func isPart(_ truth: Bool) -> Bool {
        switch self {
        case .part: truth
        case .whole: !truth
        case .more, .last: false
        }
    }
}
