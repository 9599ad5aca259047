import PageModel

// The answer's way to the next page: a URL, else an object of parameters, else a token. Probes prove the way later.
extension Detector {
    /// Finds the way to the next page in this order:
    /// - the `Link` header,
    /// - another header that holds a URL,
    /// - a member of the body that holds a URL, or an object with one,
    /// - an array of links with a next link,
    /// - an object of parameters,
    /// - a header that holds a token,
    /// - a member that holds a token.
    func findNext(_ draft: inout DetectionDraft) {
        if let said = configuration.next {
            draft.description.next = said
            takeNext(said, &draft)
            draft.explain("next", said.description, .said)
            return
        }
        if answer.response.header("Link").map({ LinkHeader.hasEmptyNext(in: $0) }) ?? false {
            draft.description.next = .header("Link")
            draft.evidence.hasMore = false
            draft.explain("next", "header:Link", .seen, "its next page has no items")
            return
        }
        let ways = [linkHeader, ownHeader, nextMember, linkArray]
        for way in ways {
            guard let place = way() else { continue }
            draft.description.next = place
            draft.evidence.next = answer.text(at: place).flatMap { answer.url.resolving($0) }
            draft.explain("next", place.description, .seen)
            return
        }
        draft.evidence.deniesNext = members.contains { member in
            (Detector.urlNames.contains(member.plainName)
                || TokenName(member.name).isToken && TokenName(member.name).isStrong)
                && (member.kind == .null || document.string(member.value) == "")
        }
        if let token = objectToken() ?? headerToken() ?? bodyToken() {
            draft.description.next = token.place
            draft.evidence.token = token
            draft.explain(
                "next", token.place.description, .seen, token.text == nil ? "an object of parameters" : "a token")
        }
    }

    /// Reads the place that the caller named. The place may hold a URL, a token, an object or an array.
    private func takeNext(_ place: HTTPSourceConfiguration.Place, _ draft: inout DetectionDraft) {
        let name: String
        switch place {
        case .header(let header): name = header
        case .body(let pointer):
            name = pointer.tokens.last ?? ""
            if let value = document.value(at: pointer), document.kind(of: value) == .object {
                if configuration.cursorParameter != nil || configuration.method == .post {
                    draft.evidence.token = document.objectText(value).map {
                        ContinuationToken(place: place, name: name, text: $0)
                    }
                } else if isParameters(value) {
                    draft.evidence.token = ContinuationToken(place: place, name: name, text: nil)
                }
                return
            }
            if let value = document.value(at: pointer), let text = document.arrayText(value) {
                draft.evidence.token = ContinuationToken(place: place, name: name, text: text)
                return
            }
        }
        guard let text = answer.text(at: place), !text.isEmpty else { return }
        switch configuration.paging {
        case .cursor, .keyset:
            draft.evidence.token = said(text, place, name)
        case .link, .nextURL:
            draft.evidence.next = answer.url.resolving(text)
            draft.evidence.hasBrokenNext = draft.evidence.next == nil
        case .auto, .offset, .page, .none:
            if looksLikeURL(text, named: name) {
                draft.evidence.next = answer.url.resolving(text)
            } else {
                draft.evidence.token = said(text, place, name)
            }
        }
    }

    /// The token at the place that the caller named. The token is weak if a last page may also have a token of this
    /// name.
    private func said(_ text: String, _ place: HTTPSourceConfiguration.Place, _ name: String) -> ContinuationToken {
        let known = TokenName(name)
        return ContinuationToken(place: place, name: name, text: text, isWeak: known.isToken && !known.isStrong)
    }

    // MARK: URLs

    private func linkHeader() -> HTTPSourceConfiguration.Place? {
        answer.response.header("Link").flatMap { LinkHeader.target(rel: "next", in: $0) }.map { _ in .header("Link") }
    }

    /// A header of the origin, such as `Next-Page`, that holds a URL.
    private func ownHeader() -> HTTPSourceConfiguration.Place? {
        answer.response.headers.first { field in
            field.name.lowercased().contains("next") && looksLikeURL(field.value, named: field.name)
        }.map { .header($0.name) }
    }

    private static let urlNames = [
        "nexturl", "nexthref", "nextlink", "nexturi", "nextpageurl", "nextpagelink", "nextpageuri", "nextrecordsurl",
        "odata.nextlink",
        "next", "nextpage",
    ]

    private func nextMember() -> HTTPSourceConfiguration.Place? {
        for name in Detector.urlNames {
            for member in members where member.plainName == name {
                if let place = link(at: member.pointer, named: name) { return .body(place) }
            }
        }
        if let member = members.first(where: isNextLink) { return .body(member.pointer) }
        // `nextByOffset: {href: …}`: an object with a link under another name.
        return members.lazy.compactMap { member in
            guard member.kind == .object, member.plainName.hasPrefix("next") || member.plainName.hasSuffix("next")
            else {
                return nil
            }
            return self.link(at: member.pointer, named: member.plainName).map { .body($0) }
        }.first
    }

    /// The place of the URL at `pointer`: a string, an object with one, or an array that starts with either.
    private func link(at pointer: JSONPointer, named name: String) -> JSONPointer? {
        guard let value = document.value(at: pointer) else { return nil }
        switch document.kind(of: value) {
        case .string:
            return document.string(value).flatMap { looksLikeURL($0, named: name) ? pointer : nil }
        case .object:
            return ["href", "url", "link", "uri", "@id", "id"].lazy.map { pointer.appending($0) }.first { place in
                self.document.value(at: place).flatMap { self.document.string($0) }
                    .map { self.looksLikeURL($0, named: "url") } ?? false
            }
        case .array:
            let first = document.elements(of: value, atMost: 1).first
            let isNested = first.map { document.kind(of: $0) == .array } ?? true
            return isNested ? nil : link(at: pointer.appending("0"), named: name)
        case .number, .boolean, .null:
            return nil
        }
    }

    /// Whether a member is a string under another name for the next page (`more_topics_url`). The string must be a URL
    /// with the path of this page or a path that begins with it, and with other parameters.
    private func isNextLink(_ member: EnvelopeMember) -> Bool {
        let name = member.plainName
        guard member.kind == .string, ["next", "more", "older"].contains(where: { name.contains($0) }),
            let text = document.string(member.value), looksLikeURL(text, named: name),
            let target = answer.url.resolving(text), target.hasSameOrigin(as: answer.url)
        else { return false }
        func bare(_ path: String) -> Substring { path.hasSuffix(".json") ? path.dropLast(5) : path[...] }
        return target.path.hasPrefix(bare(answer.url.path)) && target.parameters != answer.url.parameters
    }

    private func linkArray() -> HTTPSourceConfiguration.Place? {
        for member in members
        where member.kind == .array && (member.plainName.hasSuffix("links") || member.plainName == "link") {
            let place = HTTPSourceConfiguration.Place.body(member.pointer.next)
            if answer.text(at: place).map({ !$0.isEmpty }) == true { return place }
        }
        return nil
    }

    /// The relation of an element that looks like a link. Returns nil for any other element.
    func relation(of element: JSONValue) -> String? {
        guard ["href", "url", "uri"].contains(where: { document.member($0, of: element) != nil }) else { return nil }
        return ["rel", "relation"].lazy.compactMap { self.document.member($0, of: element) }.first.flatMap {
            document.scalarText($0)
        }
    }

    /// Whether a text is a URL reference. A path without a query counts only under a name for URLs or for the next
    /// page, because a base 64 token may also begin with a slash.
    func looksLikeURL(_ text: String, named name: String) -> Bool {
        if text.hasPrefix("http://") || text.hasPrefix("https://") || text.hasPrefix("?") { return true }
        if text.unescapedLink != text { return looksLikeURL(text.unescapedLink, named: name) }
        // Some origins leave spaces in the parameters of their links.
        if text.hasPrefix("/"), text.prefix(while: { $0 != "?" }).allSatisfy({ !$0.isWhitespace }),
            text.contains("?"), text.contains("=")
        {
            return true
        }
        guard !text.contains(where: \.isWhitespace) else { return false }
        let plain = EnvelopeMember.plain(name)
        let isNamedURL = ["url", "href", "link", "uri"].contains { plain.contains($0) }
        if text.hasPrefix("/") {
            // `next: "/items/page/2"`: a path below the same first part.
            let first = answer.url.path.split(separator: "/").first.map { "/\($0)/" }
            return isNamedURL || text.contains("?")
                || Detector.urlNames.contains(plain) && first.map { text.hasPrefix($0) } ?? false
        }
        if Detector.urlNames.contains(plain) || isNamedURL, answer.url.isQuery(text.replacing("&amp;", with: "&")) {
            return true
        }
        return text.contains("?") && text.contains("=")
    }
}

extension JSONPointer {
    private static let nextMark = "[rel=next]"

    /// The next link in the array that this pointer names; see `HTTPSourceConfiguration.Place`.
    var next: JSONPointer {
        JSONPointer(tokens: tokens.dropLast() + [(tokens.last ?? "") + JSONPointer.nextMark])
    }

    /// The array that `next` was derived from. `nil` for any other pointer.
    var linkArray: JSONPointer? {
        guard let last = tokens.last, last.hasSuffix(JSONPointer.nextMark) else { return nil }
        return JSONPointer(tokens: tokens.dropLast() + [String(last.dropLast(JSONPointer.nextMark.count))])
    }
}
