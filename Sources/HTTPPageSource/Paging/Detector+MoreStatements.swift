import PageModel

// The answer's statements on its own place in the list: whether more items follow, the page number, and the number of
// pages (R24).
extension Detector {
    private static let pageCountNames: Set<String> = [
        "totalpages", "pagecount", "pages", "lastpage", "nbpages", "pagestotal", "totalpagecount", "numpages",
        "numberofpages", "totalpage",
    ]
    static let pageNames: Set<String> = [
        "page", "currentpage", "pagenumber", "pageindex", "number", "pageno", "current",
    ]

    /// The last words of the warning about a statement that contradicts a next page.
    static let contradiction = "continuing with the next page"

    func findMore(_ draft: inout DetectionDraft) {
        findHasMore(&draft)
        findPart(&draft)
        let counts = members.filter {
            (Detector.pageCountNames.contains($0.plainName) || isCountOfPages($0))
                && ($0.kind == .number || $0.kind == .string) && !countsItemsOfPage($0, draft.evidence.count)
        }
        let count =
            counts.lazy.compactMap { member in
                self.document.integer(member.value).flatMap {
                    $0 >= 0 ? (place: HTTPSourceConfiguration.Place.body(member.pointer), number: $0) : nil
                }
            }.first ?? pageCountHeader()
        guard let count else { return }
        draft.description.pageCount = count.place
        draft.evidence.pageCount = count.number
        draft.explain("more", count.place.description, .seen, "the number of pages")
        draft.evidence.pageNumber = members.first {
            Detector.pageNames.contains($0.plainName) && document.integer($0.value) != nil
        }
        .flatMap { document.integer($0.value) }
    }

    /// Whether a number of pages counts the items of this page, which is shorter than its stated size and as long as
    /// the list: `count: 7, page_count: 7, page_size: 50` next to 7 items.
    private func countsItemsOfPage(_ member: EnvelopeMember, _ count: Int) -> Bool {
        guard count > 1, document.integer(member.value) == count else { return false }
        func states(_ isWanted: (EnvelopeMember) -> Bool, _ isRight: (Int) -> Bool) -> Bool {
            members.contains { isWanted($0) && document.integer($0.value).map(isRight) ?? false }
        }
        return states({ Detector.sizeNames.contains($0.plainName) }, { $0 > count })
            && states({ Detector.rank($0.name) ?? 0 >= 3 }, { $0 == count })
    }

    /// Whether a member counts pages: `of` next to the number of the page (`page: {current: 1, of: 4}`).
    private func isCountOfPages(_ member: EnvelopeMember) -> Bool {
        guard member.plainName == "of" else { return false }
        let holder = member.pointer.tokens.dropLast()
        return members.contains { Detector.pageNames.contains($0.plainName) && $0.pointer.tokens.dropLast() == holder }
    }

    /// Finds a statement that the answers are a part of the list, next to the items or in an object of paging. The
    /// profile also stores the place of a statement whose value proves nothing, because a later answer may state the
    /// opposite.
    private func findPart(_ draft: inout DetectionDraft) {
        let items = draft.description.items.tokens.dropLast()
        let found = members.filter { member in
            guard document.truth(member.value) != nil, let statement = MoreStatement.named(member.plainName),
                statement.hasMore(true) == nil
            else { return false }
            return items.starts(with: member.pointer.tokens.dropLast())
                || Detector.envelopeNames.contains(EnvelopeMember.plain(member.parent ?? ""))
        }
        let isPart = found.first { member in
            document.truth(member.value).flatMap { MoreStatement.named(member.plainName)?.isPart($0) } ?? false
        }
        guard let member = isPart ?? found.first else { return }
        draft.description.part = member.pointer
        guard isPart != nil else { return }
        draft.evidence.part = member.pointer
        draft.evidence.hasMore = true
        draft.explain("more", member.pointer.description, .seen, "the answers are a part of the list")
    }

    /// The names of objects whose members describe the list, wherever the items are.
    static let envelopeNames: Set<String> = [
        "meta", "metadata", "pagination", "paging", "page", "pages", "pageinfo", "info", "response", "result",
    ]

    private func pageCountHeader() -> (place: HTTPSourceConfiguration.Place, number: Int)? {
        for field in answer.response.headers {
            let plain = EnvelopeMember.plain(field.name)
            if plain.hasSuffix("totalpages") || plain.hasSuffix("pagecount") || plain == "xpages",
                let number = JSONText.wholeNumber(field.value), number >= 0
            {
                return (.header(field.name), number)
            }
            if let found = Detector.pageCount(inJSON: field) { return found }
        }
        return nil
    }

    /// The number of pages in a header that holds a JSON object.
    private static func pageCount(inJSON field: HTTPField) -> (place: HTTPSourceConfiguration.Place, number: Int)? {
        guard field.value.hasPrefix("{"), let document = try? JSONDocument(Array(field.value.utf8), depthLimit: 4)
        else { return nil }
        return document.members(of: document.root).lazy.compactMap { name, value in
            guard pageCountNames.contains(EnvelopeMember.plain(name)), let number = document.integer(value), number >= 0
            else { return nil }
            return (.header(field.name + Answer.headerMark + JSONPointer(tokens: [name]).description), number)
        }.first
    }

    /// Finds a number of items after this page: `remainingItemCount`, `pending`. The number stands next to the items or
    /// in an object of paging. Members that state a rate limit have such names, too, and do not count.
    func findRemaining(_ draft: inout DetectionDraft) {
        let items = draft.description.items.tokens.dropLast()
        let others = ["rate", "limit", "quota", "credit", "request", "call", "time", "second", "attempt", "token"]
        let found = members.first { member in
            let name = member.plainName
            guard name.contains("remaining") || name == "pending", member.kind == .number else { return false }
            let holder = member.pointer.tokens.dropLast()
            return items.starts(with: holder)
                ? !others.contains { name.contains($0) }
                : ["meta", "metadata", "pagination", "paging", "pageinfo"].contains(
                    EnvelopeMember.plain(holder.last ?? "")) && !others.contains { name.contains($0) }
        }
        guard let found, let number = document.integer(found.value), number >= 0 else { return }
        draft.evidence.remaining = number
        if draft.evidence.token?.isWeak == true { draft.description.remaining = found.pointer }
        draft.explain("more", found.pointer.description, .seen, "the number of items after this page")
    }

    private func findHasMore(_ draft: inout DetectionDraft) {
        if let said = configuration.hasMore {
            draft.description.hasMore = said
            draft.evidence.hasMore = document.value(at: said).flatMap { document.statement($0) }
            draft.explain("more", said.description, .said)
            return
        }
        for member in members {
            guard let truth = document.truth(member.value) ?? numericTruth(member) else { continue }
            guard let statement = MoreStatement.named(member.plainName) ?? booleanNext(member),
                let hasMore = statement.hasMore(truth)
            else { continue }
            // A next page and the origin's own statement each win over all other evidence (R24). If they contradict
            // each other, the next page wins.
            if !hasMore, draft.evidence.next != nil || draft.evidence.hasStrongToken {
                if draft.evidence.next == nil, MoreStatement.isPlain(member.plainName) {
                    draft.evidence.isMoreDenied = true
                }
                draft.warnings.append(
                    "\(member.pointer) says that the list ends, but the answer names a next page; \(Detector.contradiction)"
                )
                draft.explain(
                    "more", member.pointer.description, .failed, "contradicts the next page that the answer names")
                continue
            }
            if case .more = statement {
                draft.description.hasMore = member.pointer
            } else {
                draft.description.isLast = member.pointer
            }
            draft.evidence.hasMore = hasMore
            draft.explain("more", member.pointer.description, .seen)
            return
        }
        // The profile does not store this header. The header only shows that page one is not the whole list.
        let header = answer.response.headers.first { field in
            let plain = EnvelopeMember.plain(field.name)
            return ["hasmore", "hasnext", "hasnextpage", "morepages"].contains { plain.hasSuffix($0) }
                && field.value.lowercased() == "true"
        }
        guard let header, draft.evidence.next == nil else { return }
        draft.evidence.hasMore = true
        draft.explain("more", "header:\(header.name)", .seen)
    }
}

extension Detector {
    /// `nextPage: true`: a boolean under the name of a next page.
    fileprivate func booleanNext(_ member: EnvelopeMember) -> MoreStatement? {
        member.kind == .boolean && ["next", "nextpage", "hasnextlink"].contains(member.plainName) ? .more : nil
    }

    /// The value of `has_more: 1` or `is_last: 0`. A number under another name, such as `last: 1`, is not a statement.
    fileprivate func numericTruth(_ member: EnvelopeMember) -> Bool? {
        let isQuestion = ["has", "have", "is"].contains { member.plainName.hasPrefix($0) }
        return isQuestion ? document.statement(member.value) : nil
    }
}

extension JSONDocument {
    /// The value of a boolean, or of a string that spells one.
    func truth(_ value: JSONValue) -> Bool? {
        if let truth = boolean(value) { return truth }
        switch string(value)?.lowercased() {
        case "true", "yes", "y": return true
        case "false", "no", "n": return false
        case _: return nil
        }
    }

    /// The value of a member that is known to be a statement: also 1 and 0, as a number or a string.
    func statement(_ value: JSONValue) -> Bool? {
        if let truth = truth(value) { return truth }
        switch scalarText(value) {
        case "1": return true
        case "0": return false
        case _: return nil
        }
    }
}
