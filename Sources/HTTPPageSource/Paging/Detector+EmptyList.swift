import PageModel

// Answers to an empty list that hold another list: `{"count":0,"artObjects":[],"facets":[{…}]}`.
extension Detector {
    /// Returns the empty array of the answer in place of `list` when the answer counts 0 items although `list` has
    /// elements. Returns `list` in all other cases, when the caller named the place of the items, and when the name of
    /// `list` is a usual one or in the path of the URL.
    /// - Throws: `FetchFailure` with class `undecodable` when the answer has no empty array. `list` may then be the
    ///   items, or another list next to them.
    func countedEmpty(_ list: ItemsPlace) throws(FetchFailure) -> ItemsPlace {
        let name = list.pointer.tokens.last ?? ""
        guard configuration.items == nil, !name.isEmpty, !isUsual(name), !isNamedByPath(name), statesEmptyList(list),
            let value = document.value(at: list.pointer), !document.entries(of: value, atMost: 1).isEmpty
        else { return list }
        let empty = members.first { member in
            guard member.kind == .array, document.elements(of: member.value, atMost: 1).isEmpty else { return false }
            return rank(of: [], at: member.pointer, named: member.name) > 0
        }
        if let empty { return ItemsPlace(pointer: empty.pointer) }
        throw FetchFailure(
            .undecodable,
            "the answer counts 0 items, and has a list at \(list.pointer): choose with \(HTTPSourceConfiguration.Setting.items)",
            isRetryable: false, httpStatus: answer.response.status)
    }

    /// Whether the answer states that the list has at least this many items, or that more follow.
    func showsItems(_ count: Int) -> Bool {
        members.contains { member in
            if let rank = Detector.rank(member.name), rank >= 3, let number = document.integer(member.value) {
                return number >= count
            }
            return document.truth(member.value).flatMap { MoreStatement.named(member.plainName)?.hasMore($0) } ?? false
        }
    }

    /// Whether the name of an array shows that it stands beside the list, with or without elements: texts for people,
    /// and links.
    static func isAccessory(_ member: EnvelopeMember) -> Bool {
        let words = ["message", "warning", "error", "attribution"]
        return member.plainName.hasSuffix("links") || words.contains { member.plainName.contains($0) }
    }

    /// Whether all totals of the answer are 0. A bare name such as `total` or `count` is considered only around the
    /// list, or in an object of paging: elsewhere it may count errors.
    private func statesEmptyList(_ list: ItemsPlace) -> Bool {
        let numbers = members.compactMap { member -> Int? in
            guard let rank = Detector.rank(member.name), rank >= 3 else { return nil }
            let isAround =
                list.pointer.tokens.starts(with: member.pointer.tokens.dropLast())
                || Detector.envelopeNames.contains(EnvelopeMember.plain(member.parent ?? ""))
            let isPlain = rank == 4 && member.plainName != "total"
            return isAround || isPlain ? document.integer(member.value) : nil
        }
        return !numbers.isEmpty && numbers.allSatisfy { $0 == 0 }
    }
}
