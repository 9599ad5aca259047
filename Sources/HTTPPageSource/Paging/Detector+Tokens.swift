import PageModel

// Tokens for the next page: in members, in headers, and in the items themselves.
extension Detector {
    /// Names of tokens, the clearest first.
    private static let tokenNames = [
        "nextcursor", "nextpagetoken", "nexttoken", "nextpagecursor", "nextcontinuationtoken", "continuationtoken",
        "nextcontinuation",
        "continuation", "continue", "nextmarker", "nextkey", "nextid", "lastevaluatedkey", "endcursor", "scrollid",
        "bookmark", "resumptiontoken", "nextpage", "nextoffset",
        "nextstart", "nextpagestart", "next", "after", "cursor", "offset",
    ]

    func objectToken() -> ContinuationToken? {
        // The body of a POST request takes the token itself, and not the object around it.
        guard configuration.method == .get else { return nil }
        return members.first { member in
            member.kind == .object && ["continue", "continuation", "next", "nextpage"].contains(member.plainName)
                && isParameters(member.value)
        }.map { ContinuationToken(place: .body($0.pointer), name: $0.name, text: nil) }
    }

    /// Whether an object holds parameters for the next request: 1 to 16 scalars, and no link.
    func isParameters(_ object: JSONValue) -> Bool {
        let parameters = document.members(of: object)
        return (1...16).contains(parameters.count) && parameters.allSatisfy { document.scalarText($0.value) != nil }
            && !parameters.contains { ["href", "url", "link", "uri"].contains($0.name.lowercased()) }
    }

    func headerToken() -> ContinuationToken? {
        answer.response.headers.first { field in
            TokenName(field.name).isToken && TokenName(field.name).isStrong
                && isTokenText(field.value, named: field.name)
                && !looksLikeURL(field.value, named: "header")
        }.map { ContinuationToken(place: .header($0.name), name: $0.name, text: $0.value) }
    }

    func bodyToken() -> ContinuationToken? {
        for name in Detector.tokenNames {
            for member in members where member.plainName == name {
                // As a number, `offset` is the position of this page, not of the next one.
                let isInNext = member.parent.map { EnvelopeMember.plain($0) == "next" } ?? false
                if !isInNext, ["offset", "cursor", "after"].contains(name),
                    member.kind == .number || Int(text(member)) != nil
                {
                    continue
                }
                if let token = token(member) { return token }
            }
        }
        let others = members.filter { TokenName($0.name).isToken && [.string, .number].contains($0.kind) }
        return (others.filter { TokenName($0.name).isStrong } + others).lazy.compactMap { self.token($0) }.first
            ?? endOfRange() ?? echoOfLast()
    }

    /// Finds a text next to the items whose whole name is `token`. The answer must show no other way to the next page,
    /// and count more items than it has. Such a text may also identify a session, so it only suggests a parameter.
    func findPlainToken(_ draft: inout DetectionDraft) {
        guard configuration.next == nil, draft.description.next == nil,
            draft.evidence.exactTotal ?? 0 > draft.evidence.count
        else { return }
        let holder = draft.description.items.tokens.dropLast()
        let found = members.first { member in
            member.plainName == "token" && member.kind == .string && member.pointer.tokens.dropLast() == holder
        }
        guard let token = found.flatMap({ self.token($0) }) else { return }
        draft.description.next = token.place
        draft.evidence.token = token
        draft.explain("next", token.place.description, .seen, "a token")
    }

    /// The token `end`, if the same object has a different token `start`: `start: "t0", end: "t10"`.
    func endOfRange() -> ContinuationToken? {
        members.first { member in
            guard member.plainName == "end", member.kind == .string else { return false }
            let holder = member.pointer.tokens.dropLast()
            return members.contains { other in
                other.plainName == "start" && other.kind == .string && other.pointer.tokens.dropLast() == holder
                    && text(other) != text(member)
            }
        }.flatMap { token($0) }
    }

    /// A member next to the items that repeats a key of the last item: `last_appid: 37` next to items with an `appid`.
    func echoOfLast() -> ContinuationToken? {
        guard let list = itemsPointer()?.pointer, let value = document.value(at: list) else { return nil }
        let elements = document.elements(of: value, atMost: configuration.limits.itemsPerPage)
        guard elements.count > 1, let last = elements.last, document.kind(of: last) == .object else { return nil }
        let keys = document.members(of: last).filter { isUnique(JSONPointer(tokens: [$0.name]), elements) }
        let texts = Set(keys.compactMap { document.scalarText($0.value) })
        let holder = list.tokens.dropLast()
        return members.first { member in
            guard [.string, .number].contains(member.kind), holder.starts(with: member.pointer.tokens.dropLast()),
                Detector.rank(member.name) == nil, !ParameterNames.limit.contains(member.name),
                !Detector.pageNames.contains(member.plainName), texts.contains(text(member))
            else { return false }
            let name = member.plainName
            return ["last", "offset", "max", "min", "until", "end", "id", "key"].contains { name.contains($0) }
                && !["total", "count", "prev", "first"].contains { name.contains($0) }
        }.flatMap { token($0) }
    }

    func token(_ member: EnvelopeMember) -> ContinuationToken? {
        guard let text = tokenText(member), isTokenText(text, named: member.name) else { return nil }
        let isKnown =
            TokenName(member.name).isStrong || member.parent.map { EnvelopeMember.plain($0) == "next" } ?? false
        return ContinuationToken(
            place: .body(member.pointer), name: member.name, text: text, isWeak: !isKnown,
            holder: member.pointer.tokens.dropLast().last)
    }

    func text(_ member: EnvelopeMember) -> String { document.scalarText(member.value) ?? "" }

    /// Whether a text can be a token: at most 4,096 bytes, not a mark of the end, and not the caller's own value for
    /// page one (`cursorMark=*`). A date counts only under the name of a token, because `next_run` also holds a date.
    func isTokenText(_ text: String, named name: String) -> Bool {
        let digits = text.utf8.prefix(10)
        let isDate =
            digits.count == 10
            && zip(digits, "dddd-dd-dd".utf8).allSatisfy {
                $1 == UInt8(ascii: "d") ? (0x30...0x39).contains($0) : $0 == $1
            }
        let isCallers = text == "*" || CandidateOrder.placeholders.contains(text) && answer.url.value(of: name) == text
        let isNamed = Detector.tokenNames.contains(EnvelopeMember.plain(name))
        return !PageReader.endMarks.contains(text) && text.utf8.count <= 4_096 && (isNamed || !isDate) && !isCallers
    }

    /// The text of a scalar. The last evaluated key may be an object, and is sent back as that object.
    func tokenText(_ member: EnvelopeMember) -> String? {
        if member.kind == .object, member.plainName == "lastevaluatedkey" { return document.objectText(member.value) }
        return document.scalarText(member.value)
    }
}
