import PageModel
import PagedRepository

/// Reads a page from an answer, by the paging profile in `description`.
struct PageReader {
    let answer: Answer
    let description: PagingProfile
    /// The present URL of page one. Cursors and keys become parameters of it.
    let base: OriginURL
    let isFirst: Bool
    let limits: HTTPLimits
    /// Whether page one may lack the place of the items, because an earlier answer had them there, or the caller names
    /// it. Some origins omit the member when the list has no items. Defaults to false.
    var mayLackItems = false

    func page() throws(FetchFailure) -> FetchedPage {
        let all = try content()
        let content = withoutTheLast(all)
        var page = FetchedPage(
            content: content, total: PageReader.total(of: answer, description).total, hasMore: saysMore)
        page.next = try next(behind: all)
        if all.isEmpty, page.total == .unknown, let place = description.unclearTotal,
            let number = answer.number(at: place), number > 0
        {
            page.total = ListTotal(claimed: number)
        }
        if !description.isChain, description.style != .none, page.hasMore == nil, isNextLive,
            !(all.isEmpty && isNextMereCount)
        {
            // Pages are requested by number. A next link only shows that more items follow.
            page.hasMore = true
        }
        if !description.isChain, description.style != .none, page.hasMore == nil, !isFirst, deniesNext {
            page.hasMore = false
        }
        page.validator = validator
        return page
    }

    // MARK: Items

    func content() throws(FetchFailure) -> PageContent {
        let document = answer.document
        let list = document.value(at: description.items)
        let isEmpty = list.map { self.isEmpty($0) } ?? true
        // An error is neither an empty list nor the end of one.
        if isEmpty, let failure = answer.failure(withoutItemsAt: description.items) { throw failure }
        if let place = movedItems(list: list, isEmpty: isEmpty) {
            let own = described(description.items)
            throw FetchFailure(
                .undecodable,
                isEmpty
                    ? "the answer has no items at \(own), and objects at \(place)"
                    : "the answer has items at \(own), and further items at \(place)",
                isRetryable: false, httpStatus: answer.response.status)
        }
        guard let list else {
            // Some origins omit the member when the list has no items. On page one, a total of 0 or the origin's
            // statement must confirm it. On later pages, an answer without the words of an error is the end of the
            // list.
            if PageReader.total(of: answer, description).total == .exact(0) || saysMore == false {
                return PageContent()
            }
            if !isFirst || mayLackItems, lacksOnlyItems { return PageContent() }
            throw FetchFailure(
                .undecodable, "the answer has nothing at \(described(description.items))",
                isRetryable: false, httpStatus: answer.response.status)
        }
        if document.kind(of: list) == .null { return PageContent() }
        guard document.kind(of: list) == .array || isKeyed(list) else {
            throw FetchFailure(
                .undecodable,
                "the value at \(described(description.items)) is not an array",
                isRetryable: false,
                httpStatus: answer.response.status)
        }
        return try document.items(of: list, id: description.id, limits: limits)
    }

    /// Whether the answer is an object without the words of an error. On page one it also has to have members: an empty
    /// object may be the answer of a failing origin.
    private var lacksOnlyItems: Bool {
        let document = answer.document
        let words: Set<String> = [
            "error", "errors", "message", "fault", "exception", "detail", "code", "status", "title", "msg", "reason",
        ]
        let members = document.members(of: document.root)
        return document.kind(of: document.root) == .object && (!isFirst || !members.isEmpty)
            && members.allSatisfy { !words.contains($0.name.lowercased()) }
    }

    private func isEmpty(_ list: JSONValue) -> Bool {
        answer.document.kind(of: list) == .null || answer.document.entries(of: list, atMost: 1).isEmpty
    }

    /// Whether the answer has items at another place than page one; see `movedItems`.
    var hasMovedItems: Bool {
        let list = answer.document.value(at: description.items)
        return movedItems(list: list, isEmpty: list.map { isEmpty($0) } ?? true) != nil
    }

    /// Whether an object holds the items by their keys, as it did on page one. Every member is an item then.
    private func isKeyed(_ list: JSONValue) -> Bool {
        description.isKeyed == true && answer.document.kind(of: list) == .object
            && answer.document.values(of: list).allSatisfy { answer.document.kind(of: $0) == .object }
    }

    /// Removes the first item of a keyset page when it is the item that the request continues after. Most origins leave
    /// that item out.
    private func withoutTheLast(_ content: PageContent) -> PageContent {
        guard description.style == .keyset, !isFirst, !content.isEmpty, let name = description.cursorParameter,
            let asked = answer.url.value(of: name), key(ofItemAt: 0) == asked
        else { return content }
        return content.slice(1..<content.count)
    }

    // MARK: Total

    /// The total in an answer (R44), and a warning when the value is nonsense.
    static func total(of answer: Answer, _ description: PagingProfile) -> (total: ListTotal, nonsense: String?) {
        guard let place = description.total, let text = answer.text(at: place) else { return (.unknown, nil) }
        guard let number = answer.number(at: place), number >= 0 else {
            // `0-24/*`: the origin does not know the total (RFC 9110, 14.4).
            return (.unknown, text.hasSuffix("/*") ? nil : "\(place) is not a number of items; the total is unknown")
        }
        let total = ListTotal(claimed: number)
        guard
            description.isEstimate == true || isMarked(answer, description.estimateMark)
                || PageReader.isPart(answer, description)
                || (answer.statedRange(at: place)?.precision ?? .exact) != .exact
        else { return (total, nil) }
        return (total.count.map { .estimate($0) } ?? .unknown, nil)
    }

    /// Whether the member at `mark` says that the total is an estimate: `relation: "gte"`, `isEstimate: true`. A text
    /// counts unless it is empty, `eq`, `exact` or `equal`.
    private static func isMarked(_ answer: Answer, _ mark: JSONPointer?) -> Bool {
        guard let value = mark.flatMap({ answer.document.value(at: $0) }) else { return false }
        if let truth = answer.document.truth(value) {
            // `exhaustiveNbHits` and `isExact` are true for an exact total.
            let name = EnvelopeMember.plain(mark?.tokens.last ?? "")
            return ["exact", "exhaustive"].contains { name.contains($0) } ? !truth : truth
        }
        return answer.document.string(value).map { !["eq", "exact", "equal", ""].contains($0.lowercased()) } ?? false
    }

    /// Whether the origin says that its list has at least as many items as it counts: `relation: "gte"`,
    /// `total_is_capped`, `1-50 of 10000+`.
    static func isLowerBound(_ answer: Answer, _ description: PagingProfile) -> Bool {
        if let place = description.total, answer.statedRange(at: place)?.precision == .lowerBound { return true }
        guard let mark = description.estimateMark, let value = answer.document.value(at: mark) else { return false }
        if let text = answer.document.string(value), answer.document.truth(value) == nil {
            return text.lowercased().hasPrefix("gt") || text.hasPrefix(">")
        }
        let name = EnvelopeMember.plain(mark.tokens.last ?? "")
        return ["capped", "truncated", "lowerbound"].contains { name.contains($0) } && isMarked(answer, mark)
    }

    // MARK: The rest

    private var validator: Validator? {
        let entityTag = answer.response.entityTag
        let lastModified = answer.response.lastModified
        guard entityTag != nil || lastModified != nil else { return nil }
        let coversTotal = if case .body = description.total { true } else { false }
        return Validator(
            request: answer.url.text, entityTag: entityTag, lastModified: lastModified, coversTotal: coversTotal)
    }

    /// The key of an item that a keyset continues after. `nil` for an item without a key, and for an index without an
    /// item.
    func key(ofItemAt index: Int) -> String? {
        guard index >= 0, let key = description.key ?? description.id,
            let list = answer.document.value(at: description.items)
        else { return nil }
        let elements = answer.document.entries(of: list, atMost: index + 1)
        guard index < elements.count else { return nil }
        guard let value = answer.document.value(at: key, below: elements[index]) else { return nil }
        // Several sort values go into the body of a search as they are.
        let isInBody = RequestBody.isPlace(description.cursorParameter ?? "")
        return answer.document.identifier(value)?.text ?? (isInBody ? answer.document.arrayText(value) : nil)
    }

    private func described(_ pointer: JSONPointer) -> String {
        pointer.tokens.isEmpty ? "the top" : pointer.description
    }
}
