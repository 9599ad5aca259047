import PageModel

// How the answer says the list goes on: a URL, else a token, else an object. What was found is proved later, by asking.
extension Detector {
    /// In this order: the `Link` header; a header of the origin's own with a URL; a member of the body with a URL, or
    /// an object with one; an array of links, the next among them; an object of parameters; a header with a token; a
    /// member with one.
    func findNext(_ draft: inout DetectionDraft) {
        if let said = configuration.next {
            draft.description.next = said
            takeNext(said, &draft)
            draft.explain("next", said.description, .said)
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
        if let token = objectToken() ?? headerToken() ?? bodyToken() {
            draft.description.next = token.place
            draft.evidence.token = token
            draft.explain(
                "next", token.place.description, .seen, token.text == nil ? "an object of parameters" : "a token")
        }
    }

    /// What the caller named may hold a URL, a token or an object.
    private func takeNext(_ place: HTTPSourceConfiguration.Place, _ draft: inout DetectionDraft) {
        let name: String
        switch place {
        case .header(let header): name = header
        case .body(let pointer):
            name = pointer.tokens.last ?? ""
            if let value = document.value(at: pointer), document.kind(of: value) == .object {
                if configuration.cursorParameter != nil {
                    draft.evidence.token = document.objectText(value).map {
                        ContinuationToken(place: place, name: name, text: $0)
                    }
                } else if isParameters(value) {
                    draft.evidence.token = ContinuationToken(place: place, name: name, text: nil)
                }
                return
            }
        }
        guard let text = answer.text(at: place), !text.isEmpty else { return }
        switch configuration.paging {
        case .cursor, .keyset:
            draft.evidence.token = ContinuationToken(place: place, name: name, text: text)
        case .link, .nextURL:
            draft.evidence.next = answer.url.resolving(text)
        case .auto, .offset, .page, .none:
            if looksLikeURL(text, named: name) {
                draft.evidence.next = answer.url.resolving(text)
            } else {
                draft.evidence.token = ContinuationToken(place: place, name: name, text: text)
            }
        }
    }

    // MARK: URLs

    private func linkHeader() -> HTTPSourceConfiguration.Place? {
        answer.response.header("Link").flatMap { LinkHeader.target(rel: "next", in: $0) }.map { _ in .header("Link") }
    }

    /// A header of the origin's own, such as Next-Page, that holds a URL.
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
                if let text = document.string(member.value), looksLikeURL(text, named: name) {
                    return .body(member.pointer)
                }
                for part in ["href", "url", "link", "uri"] where member.kind == .object {
                    let pointer = member.pointer.appending(part)
                    if let text = document.value(at: pointer).flatMap({ document.string($0) }),
                        looksLikeURL(text, named: "url")
                    {
                        return .body(pointer)
                    }
                }
            }
        }
        return nil
    }

    private func linkArray() -> HTTPSourceConfiguration.Place? {
        for member in members where member.kind == .array && ["links", "link"].contains(member.plainName) {
            let place = HTTPSourceConfiguration.Place.body(member.pointer.next)
            if answer.text(at: place).map({ !$0.isEmpty }) == true { return place }
        }
        return nil
    }

    /// The relation of what looks like a link.
    func relation(of element: JSONValue) -> String? {
        guard ["href", "url", "uri"].contains(where: { document.member($0, of: element) != nil }) else { return nil }
        return ["rel", "relation"].lazy.compactMap { self.document.member($0, of: element) }.first.flatMap {
            document.scalarText($0)
        }
    }

    /// A token in base 64 may begin with a slash, too: only under the name of a URL a path is one without a query.
    private func looksLikeURL(_ text: String, named name: String) -> Bool {
        if text.hasPrefix("http://") || text.hasPrefix("https://") || text.hasPrefix("?") { return true }
        guard !text.contains(where: \.isWhitespace) else { return false }
        let plain = EnvelopeMember.plain(name)
        let isNamedURL = ["url", "href", "link", "uri"].contains { plain.contains($0) }
        if text.hasPrefix("/") { return isNamedURL || text.contains("?") }
        return text.contains("?") && text.contains("=")
    }

    // MARK: Tokens

    /// Names of tokens, the plainest first.
    private static let tokenNames = [
        "nextcursor", "nextpagetoken", "nexttoken", "nextpagecursor", "nextcontinuationtoken", "continuationtoken",
        "nextcontinuation",
        "continuation", "continue", "nextmarker", "nextkey", "nextid", "lastevaluatedkey", "endcursor", "scrollid",
        "bookmark", "resumptiontoken", "nextpage", "nextoffset",
        "nextstart", "nextpagestart", "next", "after", "cursor", "offset",
    ]

    private func objectToken() -> ContinuationToken? {
        members.first { member in
            member.kind == .object && ["continue", "continuation", "next", "nextpage"].contains(member.plainName)
                && isParameters(member.value)
        }.map { ContinuationToken(place: .body($0.pointer), name: $0.name, text: nil) }
    }

    /// Parameters for the next request: scalars, and not too many.
    private func isParameters(_ object: JSONValue) -> Bool {
        let parameters = document.members(of: object)
        return (1...16).contains(parameters.count) && parameters.allSatisfy { document.scalarText($0.value) != nil }
            && !parameters.contains { ["href", "url", "link", "uri"].contains($0.name.lowercased()) }
    }

    private func headerToken() -> ContinuationToken? {
        answer.response.headers.first { field in
            let plain = EnvelopeMember.plain(field.name)
            return ["next", "continuation", "cursor"].contains { plain.contains($0) } && !field.value.isEmpty
                && field.value != "0"
                && !["rate", "limit", "retry", "time"].contains { plain.contains($0) }
        }.map { ContinuationToken(place: .header($0.name), name: $0.name, text: $0.value) }
    }

    private func bodyToken() -> ContinuationToken? {
        for name in Detector.tokenNames {
            for member in members where member.plainName == name {
                guard let text = tokenText(member), !text.isEmpty, text != "0", text.utf8.count <= 4_096 else {
                    continue
                }
                // As a number, `offset` says where this page begins.
                if ["offset", "cursor", "after"].contains(name), member.kind == .number || Int(text) != nil {
                    continue
                }
                return ContinuationToken(place: .body(member.pointer), name: member.name, text: text)
            }
        }
        return nil
    }

    /// A scalar; or the key that the page ended with, which goes back as the object that it is.
    private func tokenText(_ member: EnvelopeMember) -> String? {
        if member.kind == .object, member.plainName == "lastevaluatedkey" { return document.objectText(member.value) }
        return document.scalarText(member.value)
    }
}

extension JSONPointer {
    private static let nextMark = "[rel=next]"

    /// The next of the links in the array that this names; see `HTTPSourceConfiguration.Place`.
    var next: JSONPointer {
        JSONPointer(tokens: tokens.dropLast() + [(tokens.last ?? "") + JSONPointer.nextMark])
    }

    /// The array that `next` was made of; nil for any other pointer.
    var linkArray: JSONPointer? {
        guard let last = tokens.last, last.hasSuffix(JSONPointer.nextMark) else { return nil }
        return JSONPointer(tokens: tokens.dropLast() + [String(last.dropLast(JSONPointer.nextMark.count))])
    }
}
