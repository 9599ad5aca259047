import PageModel

/// A way to ask for more that an answer has to bear out, and how to tell whether it does.
enum Candidate: Hashable {
    /// - `first`: what is asked for page one's first item: 0, or 1.
    case offset(String, first: Int = 0)
    /// - `first`: the number of page one, where the URL says it.
    case page(String, first: Int?)
    /// The token into this parameter.
    case cursor(String)
    /// The object's members into the query.
    case merge
    /// The key of the last item into this parameter.
    case keyset(String, key: JSONPointer)

    /// The parameter that it tries.
    var parameter: String? {
        switch self {
        case .offset(let name, _), .page(let name, _), .cursor(let name), .keyset(let name, _): name
        case .merge: nil
        }
    }
}

/// What an answer to a probe shows, compared with page one.
enum ProbeFinding: Equatable {
    /// The page that was wanted.
    case proved
    /// Page one again: the parameter is not heard.
    case pageOne
    /// Something, but not what it would have to be.
    case somethingElse
    case nothing

    /// For an offset one short of page one's length: the answer must begin with page one's last item, and go on with
    /// others. Nothing but a real offset does that, and it is one that need not be a multiple of anything (R21). A list
    /// that has grown at its head meanwhile begins with two or more of them.
    static func offset(_ first: [UInt64], _ second: [UInt64]) -> ProbeFinding {
        guard !second.isEmpty else { return .nothing }
        let known = Set(first)
        let again = second.prefix { known.contains($0) }
        if again.count == second.count { return .pageOne }
        let isBehind = first.count == 1 ? again.isEmpty : again.last == first.last && again.count < first.count
        return isBehind && second.dropFirst(again.count).allSatisfy { !known.contains($0) } ? .proved : .somethingElse
    }

    /// How many of page one's items an answer begins with.
    static func overlap(_ first: [UInt64], _ second: [UInt64]) -> Int {
        let known = Set(first)
        return second.prefix { known.contains($0) }.count
    }

    /// For anything else: mostly other items than page one's. Not all others: the list may have moved by an item
    /// meanwhile.
    static func following(_ first: [UInt64], _ second: [UInt64]) -> ProbeFinding {
        guard !second.isEmpty else { return .nothing }
        let known = Set(first)
        return second.count { known.contains($0) } * 2 < second.count ? .proved : .pageOne
    }

    /// Whether a filter was asked for, and not a page: it would leave less than half of the list (as R20 doubts a
    /// shrunk one).
    static func isFiltered(_ first: Total, _ second: Total) -> Bool {
        guard let before = first.exactCount, let after = second.exactCount else { return false }
        return after < before / 2
    }

    /// In a few words.
    var detail: String {
        switch self {
        case .proved: "brought the items that follow"
        case .pageOne: "brought page one again"
        case .somethingElse: "brought other items than those that follow"
        case .nothing: "brought nothing"
        }
    }
}
