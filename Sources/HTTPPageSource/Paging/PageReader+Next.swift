import PageModel

// The way to the next page in an answer (R24). Every cursor is stored as the URL of its request, without secrets (R45).
// The URL is all that a restart needs to continue.
extension PageReader {
    /// The origin's statement whether more items follow. `nil` when the answer states nothing. The first of these
    /// decides:
    /// - The answer is a part of the list.
    /// - The `Link` header states that the next page is empty.
    /// - A boolean states that more items follow, or that the list ends.
    /// - Next to a weak token, the answer counts the remaining items.
    /// - Pages have numbers, and the answer counts the pages.
    var saysMore: Bool? {
        let document = answer.document
        if isPart { return true }
        if isEndOfLinks { return false }
        if let said = description.hasMore.flatMap({ document.value(at: $0) }).flatMap({ document.statement($0) }) {
            return said
        }
        if let isLast = description.isLast.flatMap({ document.value(at: $0) }).flatMap({ document.statement($0) }) {
            return !isLast
        }
        if description.isTokenWeak == true, let pointer = description.remaining,
            let number = document.value(at: pointer).flatMap({ document.integer($0) })
        {
            return number > 0
        }
        guard description.style == .page, let pages = description.pageCount.flatMap({ answer.number(at: $0) }),
            pages >= 0
        else { return nil }
        let first = description.firstPage ?? 1
        let number = description.pageParameter.flatMap { answer.url.value(of: $0) }.flatMap { Int($0) } ?? first
        // An origin that counts 0 pages may still have a first page.
        guard pages > 0, (0...ListTotal.largest).contains(number) else { return nil }
        return number - first < pages - 1
    }

    /// Whether the answer calls itself a part of the list, whatever its paging says.
    var isPart: Bool { PageReader.isPart(answer, description) }

    static func isPart(_ answer: Answer, _ description: PagingProfile) -> Bool {
        guard let pointer = description.part, let name = pointer.tokens.last,
            let truth = answer.document.value(at: pointer).flatMap({ answer.document.truth($0) })
        else { return false }
        return MoreStatement.named(EnvelopeMember.plain(name))?.isPart(truth) ?? false
    }

    /// Whether the `Link` header says that its next page has no items.
    private var isEndOfLinks: Bool {
        guard case .header(let name) = description.next, name.lowercased() == "link" else { return false }
        return answer.response.header(name).map { LinkHeader.hasEmptyNext(in: $0) } ?? false
    }

    /// Values in the place of a token on the last page.
    static let endMarks: Set<String> = ["", "0", "-1"]

    /// Whether the answer names a next page, in any form.
    var isNextLive: Bool {
        guard let place = description.next else { return false }
        if case .body(let pointer) = place, let value = answer.document.value(at: pointer),
            answer.document.kind(of: value) == .object
        {
            return !answer.document.members(of: value).isEmpty
        }
        if case .body(let pointer) = place, let value = answer.document.value(at: pointer),
            answer.document.kind(of: value) == .array
        {
            return answer.document.arrayText(value) != nil
        }
        return answer.text(at: place).map { !PageReader.endMarks.contains($0) } ?? false
    }

    /// Whether the answer has the place in which page one names the next page, and names none there: `next: null`, or
    /// links without one. An answer without the place states nothing.
    var deniesNext: Bool {
        guard let place = description.next, !isNextLive else { return false }
        return switch place {
        case .body(let pointer):
            [pointer.linkArray, pointer].compactMap(\.self).contains { answer.document.value(at: $0) != nil }
        case .header(let name):
            name.lowercased() == "link" && answer.response.header(name) != nil
        }
    }

    /// The cursor of the next page. Returns nil at the end, and for pages that are requested by position or number.
    /// - Throws: `FetchFailure` as `url(of:)` does.
    func next(behind content: PageContent) throws(FetchFailure) -> PageCursor? {
        switch description.style {
        case .offset, .page, .none:
            return nil
        case .link, .nextURL:
            guard let text = description.next.flatMap({ answer.text(at: $0) }), !text.isEmpty else { return nil }
            let next = try url(of: text)
            return content.isEmpty && isMereCount(next) ? nil : PageCursor(next)
        case .cursor:
            guard let next = cursor else { return nil }
            // The token of the last page may lead to an empty page, which repeats the token or has another one.
            if content.isEmpty, next == answer.url || description.isTokenWeak == true && saysMore != true { return nil }
            return PageCursor(next.text)
        case .keyset:
            // Without other evidence, a keyset ends with an empty page. A short page may be the origin's choice.
            guard !content.isEmpty, saysMore != false, !(isFirst && isWhole(content.count)),
                let name = description.cursorParameter, let key = key(ofItemAt: content.count - 1)
            else { return nil }
            var next = base
            next.set(key.hasPrefix("[") || key.hasPrefix("{") ? RequestBody.jsonPlace(name) : name, key)
            // If the next URL equals this one, the origin ignores the parameter now, or the list ends with this item.
            return next.text == answer.url.text ? nil : PageCursor(next.text)
        }
    }

    /// Whether `isMereCount` is true for the next link. Returns false without a next link.
    var isNextMereCount: Bool {
        guard let text = description.next.flatMap({ answer.text(at: $0) }), let next = try? url(of: text) else {
            return false
        }
        return isMereCount(next)
    }

    /// Whether the next link differs from the URL of the answer only in a larger offset or page number, and an exact
    /// total shows that the answer itself is after the last item. After an answer without items, such a link shows no
    /// further items: some origins send one with every answer. Returns false without a total, because an origin can
    /// leave out all items of a page in the middle (R53).
    private func isMereCount(_ text: String) -> Bool {
        guard saysMore != true, let next = OriginURL(text) else { return false }
        let here = answer.url
        let changed = next.parameters.filter { here.value(of: $0.plainName) != $0.plainValue }
        guard next.hasSameOrigin(as: here), next.path == here.path, changed.count == 1,
            let name = changed.first?.plainName,
            next.parameters.count == here.parameters.count,
            let new = Int(changed[0].plainValue), let old = here.value(of: name).flatMap({ Int($0) }), new > old
        else { return false }
        guard let total = PageReader.total(of: answer, description).total.exactCount else { return false }
        if ParameterNames.offset.contains(name) { return old >= total }
        guard description.style == .page, name == description.pageParameter, let grid = description.gridSize else {
            return false
        }
        return old - (description.firstPage ?? 1) > total / max(grid, 1)
    }

    /// Whether the token of the answer leads to the answer itself.
    var namesItself: Bool { cursor == answer.url }

    private func isWhole(_ count: Int) -> Bool {
        PageReader.total(of: answer, description).total.exactCount.map { $0 <= count } ?? false
    }

    /// The URL of page one with the token, or with the members of the object, as parameters. If a cursor parameter is
    /// known, that parameter takes an object or an array unchanged.
    private var cursor: OriginURL? {
        guard isNextLive, let place = description.next else { return nil }
        var next = base
        if case .body(let pointer) = place, let value = answer.document.value(at: pointer),
            answer.document.kind(of: value) == .object
        {
            if let name = description.cursorParameter, let text = answer.document.objectText(value) {
                next.set(RequestBody.jsonPlace(name), text)
                return next
            }
            for (name, value) in answer.document.members(of: value) {
                // The caller's own secrets are added to the request, and are not taken from the origin (R45).
                guard let text = answer.document.scalarText(value),
                    !answer.secrets.contains(where: { $0.plainName == name })
                else { continue }
                next.set(name, text)
            }
            return next
        }
        if case .body(let pointer) = place, let value = answer.document.value(at: pointer),
            let name = description.cursorParameter, let text = answer.document.arrayText(value)
        {
            next.set(RequestBody.jsonPlace(name), text)
            return next
        }
        guard let name = description.cursorParameter, let text = answer.text(at: place) else { return nil }
        next.set(name, description.isTokenEscaped == true ? text.percentDecoded ?? text : text)
        return next
    }

    /// The next URL in its stored form: without secrets, which the request adds again (R45).
    /// - Throws: `FetchFailure` with class `undecodable` when the text is not a URL, or `limitExceeded` when the policy
    ///   refuses its origin.
    func url(of text: String) throws(FetchFailure) -> String {
        // After a redirect, the links of an answer are relative to the final URL (RFC 3986, 5.1.3).
        let origin = answer.response.redirectedTo ?? answer.url
        guard var next = origin.resolving(text) else {
            throw FetchFailure(.undecodable, "the next link is not a URL", isRetryable: false)
        }
        if next.scheme == "http", origin.scheme == "https", next.host == origin.host {
            // An origin behind a TLS proxy may write http links without knowing about https.
            next = OriginURL("https" + next.text.dropFirst(4)) ?? next
        }
        let policy = answer.policy ?? OriginPolicy(home: answer.url, allowed: [])
        if case .refused = policy.decision(on: next, from: origin) {
            throw FetchFailure(
                .limitExceeded,
                "the next link leads to another origin, \(next.originText), and is not followed; another paging style or a URL of that origin may work (\(HTTPSourceConfiguration.Setting.paging))",
                isRetryable: false)
        }
        next.userInfo = nil
        // Only the caller's own secrets are removed: a continuation may be called `token` as well.
        next.removeParameters { parameter in
            answer.secrets.contains { $0.plainName == parameter.plainName && $0.plainValue == parameter.plainValue }
        }
        for name in description.carried ?? [] where next.value(of: name) == nil {
            if let value = base.value(of: name) { next.set(name, value) }
        }
        return next.text
    }
}
