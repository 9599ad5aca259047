import PageModel

// Totals that equal the length of a full page, and that other members of the answer support.
extension Detector {
    /// Whether a member beside the total states that it is exact: `relation: "eq"`. Numbers that count a page seldom
    /// have such a member.
    func isStatedExact(_ draft: DetectionDraft) -> Bool {
        guard let mark = draft.description.estimateMark,
            let text = document.value(at: mark).flatMap({ document.string($0) })
        else { return false }
        return ["eq", "exact", "equal"].contains(text.lowercased())
    }

    /// Whether page one shows in another way that no page follows, or counts its own items in a member of their own:
    /// - an array of links has a link to the page itself, and none to the next page;
    /// - the member `token` next to the items is null;
    /// - a member such as `numberReturned` has the length of the page.
    ///
    /// Each of these is a weak sign, which counts only if no probe has found more items.
    func isSupported(_ draft: DetectionDraft) -> Bool {
        let holder = draft.description.items.tokens.dropLast()
        return members.contains { member in
            switch member.kind {
            case .array:
                guard member.plainName.hasSuffix("links") || member.plainName == "link" else { return false }
                let relations = document.elements(of: member.value, atMost: 100).compactMap { relation(of: $0) }
                return relations.contains("self") && !relations.contains("next")
            case .null:
                return member.plainName == "token" && member.pointer.tokens.dropLast() == holder
            case .number:
                return member.plainName.contains("returned")
                    && document.integer(member.value) == draft.evidence.count
            case .object, .string, .boolean:
                return false
            }
        }
    }
}
