import PageModel

/// A possible way to request more pages, which the answer to a probe has to prove.
enum Candidate: Hashable {
    /// - `first`: the value that requests the first item of page one, 0 or 1.
    case offset(String, first: Int = 0)
    /// - `first`: the number of page one. `nil` means it is not known.
    case page(String, first: Int?)
    /// Puts the token into this parameter.
    case cursor(String)
    /// Turns the members of the token object into query parameters.
    case merge
    /// Puts the key of the last item into this parameter.
    case keyset(String, key: JSONPointer)

    /// The parameter that a probe sets. `nil` for `merge`.
    var parameter: String? {
        switch self {
        case .offset(let name, _), .page(let name, _), .cursor(let name), .keyset(let name, _): name
        case .merge: nil
        }
    }
}

/// The result of a probe: its answer compared with page one.
enum ProbeFinding: Equatable {
    /// The answer is the expected page.
    case proved
    /// The answer is page one again: the origin ignores the parameter.
    case pageOne
    /// The answer is the last item of page one alone: the list ends there, or the origin hides the following items.
    case lastItem
    /// The answer has items, but not the expected ones.
    case somethingElse
    /// The answer has no items.
    case nothing

    /// Compares page one with the answer to an offset one short of page one's length. The answer must begin with the
    /// last item of page one and continue with other items. Only a parameter that accepts any offset does that (R21).
    /// When the list has grown at its head meanwhile, the answer begins with two or more items of page one. The same
    /// happens when the origin hides items of page one: the answer may then begin with all items of page one (R53).
    static func offset(_ first: [UInt64], _ second: [UInt64]) -> ProbeFinding {
        guard !second.isEmpty else { return .nothing }
        let known = Set(first)
        let again = second.prefix { known.contains($0) }
        if first.count > 1, second == [first.last] { return .lastItem }
        if again.count == second.count { return .pageOne }
        let isBehind = again.isEmpty ? first.count == 1 : again.last == first.last
        return isBehind && second.dropFirst(again.count).allSatisfy { !known.contains($0) } ? .proved : .somethingElse
    }

    /// The number of page one's items at the start of an answer.
    static func overlap(_ first: [UInt64], _ second: [UInt64]) -> Int {
        let known = Set(first)
        return second.prefix { known.contains($0) }.count
    }

    /// Compares the answers to all other probes: more than half of the items must be missing from page one. A few may
    /// be the same, because items can be inserted into the list between the two answers.
    static func following(_ first: [UInt64], _ second: [UInt64]) -> ProbeFinding {
        guard !second.isEmpty else { return .nothing }
        let known = Set(first)
        return second.count { known.contains($0) } * 2 < second.count ? .proved : .pageOne
    }

    /// Whether the probe filtered the list instead of paging it: the total is less than half of the total before. At
    /// the same threshold, a page one that removes items needs a confirmation (R20).
    static func isFiltered(_ first: ListTotal, _ second: ListTotal) -> Bool {
        guard let before = first.exactCount, let after = second.exactCount else { return false }
        return after < before / 2
    }

    /// The detail of a candidate whose second answer has the items of its first one.
    static let sameAgain = "returned the same items again"
    /// The detail of a candidate for which the list changed between two answers.
    static let changed = "not confirmed: the list changes"
    /// The detail of a candidate that returned no item at a position of page one.
    static let refuted = "page one has an item there"
    /// The detail of a probe whose answer has no list of items.
    static let unreadable = "returned no items"

    /// The result in a few words.
    var detail: String {
        switch self {
        case .proved: "returned the following items"
        case .pageOne: "returned page one again"
        case .lastItem: "returned only the last item of page one"
        case .somethingElse: "returned other items than the following ones"
        case .nothing: "returned nothing"
        }
    }
}
