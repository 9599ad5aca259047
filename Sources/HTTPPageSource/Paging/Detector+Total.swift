import PageModel

// The total in the answer (R44).
extension Detector {
    private struct Candidate {
        var place: HTTPSourceConfiguration.Place
        var rank: Int
        var number: Int
        var member: EnvelopeMember?
        var isEstimate: Bool
        /// The path of the object that holds the number. A number inside an object of the total has the path of the
        /// outer object. `nil` in headers.
        var holder: [String]?
    }

    func findTotal(_ draft: inout DetectionDraft) {
        if let said = configuration.total {
            draft.description.total = said
            if case .body(let pointer) = said { draft.description.estimateMark = estimateMark(beside: pointer) }
            draft.evidence.isTotalWeak = isWeak(said, draft)
            draft.explain("total", said.description, .said)
        } else if let found = bestTotal(&draft) {
            draft.description.total = found.place
            draft.description.isEstimate = found.isEstimate ? true : nil
            draft.description.estimateMark = found.member.flatMap { estimateMark(beside: $0.pointer) }
            let isOpen =
                !draft.evidence.goesOn && draft.evidence.hasMore == nil && draft.evidence.pageCount == nil
            draft.evidence.isTotalLikely =
                isOpen && !isWeak(found, draft) && found.rank >= 3 && isLikely(found.number, draft)
            draft.evidence.isPageSmall = isSmall(draft)
            draft.evidence.isTotalWeak = isOpen && isWeak(found, draft) || draft.evidence.isTotalLikely
            draft.explain(
                "total", found.place.description, .seen,
                draft.evidence.isTotalWeak ? "it may count the page as well" : nil)
        }
        let (total, nonsense) = PageReader.total(of: answer, draft.description)
        draft.evidence.total = total
        if isStatedExact(draft) { draft.evidence.isTotalWeak = false }
        draft.evidence.isTotalSupported = draft.evidence.isTotalWeak && isSupported(draft)
        draft.evidence.isLowerBound = PageReader.isLowerBound(answer, draft.description)
        draft.evidence.openRange = openRange(count: draft.evidence.count)
        if let nonsense { draft.warnings.append(nonsense) }
        if total != .unknown, total.exactCount == nil { draft.explain("total", "an estimate", .seen) }
        if let pages = draft.evidence.pageCount, let exact = total.exactCount, pages > 1, draft.evidence.count > 0,
            pages - 1 >= exact / draft.evidence.count + 1
        {
            draft.warnings.append(
                "the origin counts \(exact) items and \(pages) pages of \(draft.evidence.count); using the number of pages"
            )
        }
    }

    /// Whether a number that equals the length of the page may count the page. A name such as `X-Result-Count` (a rank
    /// below 3) counts the page as often as the list. A name such as `count` (rank 3) may count the page if the page
    /// looks full. A plain name (rank 4) in a member may if the page has the size in the URL or a usual size. A plain
    /// name in a header may if the page has the size in the URL, or a usual size next to its own place in a list of
    /// pages.
    private func isWeak(_ found: Candidate, _ draft: DetectionDraft) -> Bool {
        guard found.number == draft.evidence.count else { return false }
        if found.rank < 3, found.number > 0 { return true }
        let size = ParameterNames.size(in: answer.url).flatMap { answer.url.value(of: $0) }
        let isAsked = size == "\(found.number)"
        let isFull = isAsked || OpenEnd.usualSizes.contains(found.number)
        return found.rank < 4
            ? draft.evidence.looksFull || isFull || draft.evidence.count >= 10 && !echoes().isEmpty
            : isFull && (found.member != nil || isAsked || !echoes().isEmpty)
    }

    private func bestTotal(_ draft: inout DetectionDraft) -> Candidate? {
        var best: Candidate?
        for candidate in withoutUnrelated(totals(&draft), draft.description.items) where candidate.rank > 0 {
            guard candidate.number >= draft.evidence.count else {
                if candidate.rank >= 4 {
                    draft.warnings.append(
                        "\(candidate.place) is \(candidate.number), but the page has \(draft.evidence.count) items; not used as the total"
                    )
                }
                continue
            }
            // When more items follow, a number equal to the page's item count counts the page.
            if draft.evidence.goesOn, candidate.number == draft.evidence.count, candidate.number > 0 {
                if candidate.rank >= 3, draft.description.unclearTotal == nil {
                    draft.description.unclearTotal = candidate.place
                }
                continue
            }
            // `results: 20` next to 20 items counts the page.
            if candidate.rank == 1, candidate.number == draft.evidence.count { continue }
            guard let known = best else {
                best = candidate
                continue
            }
            if candidate.rank == known.rank, candidate.rank >= 4, candidate.number != known.number {
                draft.warnings.append(
                    "\(known.place) says that there are \(known.number) items, and \(candidate.place) \(candidate.number); choose with \(HTTPSourceConfiguration.Setting.total)"
                )
            }
            if candidate.rank > known.rank { best = candidate }
        }
        return best
    }

    /// Removes numbers that count other things than the list (`_shards`, `facets`). Three kinds of numbers stay: those
    /// in the objects around the items, those with a better rank, and those in an object whose name stands for the
    /// list.
    private func withoutUnrelated(_ found: [Candidate], _ items: JSONPointer) -> [Candidate] {
        func isAround(_ candidate: Candidate) -> Bool {
            candidate.holder.map { items.tokens.starts(with: $0) } ?? true
        }
        let best = found.filter(isAround).map(\.rank).max() ?? 0
        let ofTheList: Set<String> = [
            "meta", "metadata", "pagination", "paging", "page", "pages", "pageinfo", "info", "links",
        ]
        return found.filter { candidate in
            isAround(candidate) || candidate.rank > best
                || candidate.holder?.contains { ofTheList.contains(EnvelopeMember.plain($0)) } ?? false
        }
    }

    /// All numbers that may count the list: the body from the top down, then headers, then `Content-Range`.
    private func totals(_ draft: inout DetectionDraft) -> [Candidate] {
        var found: [Candidate] = []
        for member in members where member.kind == .number || member.kind == .string {
            // `count: 10` next to `count=10` in the URL repeats the page size.
            if ParameterNames.limit.contains(member.name), text(member) == answer.url.value(of: member.name) {
                continue
            }
            // `total: {value: 12, relation: "gte"}` and `totalResults: {"#text": "95"}`
            let isValue = ["value", "count", "#text"].contains(member.plainName)
            let own = Detector.rank(member.name) ?? sizeOfList(member) ?? rankOfRange(member, draft)
            let parent = isValue ? member.parent.flatMap { Detector.rank($0) } : nil
            guard let rank = [own, parent].compactMap(\.self).max() else { continue }
            guard let number = answer.number(at: .body(member.pointer)), number >= 0 else {
                // A warning reports the wrong value when the name leaves no doubt that it is a total (R44).
                if rank >= 4 {
                    draft.warnings.append("\(member.pointer) is not a number of items; the total is unknown")
                }
                continue
            }
            found.append(
                Candidate(
                    place: .body(member.pointer), rank: rank, number: number, member: member,
                    isEstimate: Detector.soundsEstimated(member.name),
                    holder: Array(member.pointer.tokens.dropLast(rank == parent && rank != own ? 2 : 1))))
        }
        return found + Detector.totals(inHeaders: answer, count: draft.evidence.count)
    }

    /// The rank of `size` next to `pagelen`: `size` counts the list, and `pagelen` the page. In the same way `of`
    /// counts the list next to `to`.
    private func sizeOfList(_ member: EnvelopeMember) -> Int? {
        guard let neighbour = ["size": "pagelen", "of": "to"][member.plainName] else { return nil }
        let holder = member.pointer.tokens.dropLast()
        let isBeside = members.contains { $0.plainName == neighbour && $0.pointer.tokens.dropLast() == holder }
        return isBeside ? 3 : nil
    }

    /// The rank of a text that counts the items of this page and of the list: `"1-18 of 95"`.
    private func rankOfRange(_ member: EnvelopeMember, _ draft: DetectionDraft) -> Int? {
        guard let text = document.string(member.value), let range = StatedRange(text) else { return nil }
        return range.count == draft.evidence.count ? 3 : nil
    }

    private func openRange(count: Int) -> String? {
        let member = members.first {
            $0.kind == .string && StatedRange.isOpen(document.string($0.value) ?? "", count: count)
        }
        let field = answer.response.headers.first { StatedRange.isOpen($0.value, count: count) }
        return member?.pointer.description ?? field.map { "header:\($0.name)" }
    }

    /// - Parameter count: the number of items of the page. A text that counts another number is not a total.
    private static func totals(inHeaders answer: Answer, count: Int) -> [Candidate] {
        var found: [Candidate] = []
        for field in answer.response.headers {
            found += totals(inJSON: field)
            guard let rank = rank(field.name) ?? (StatedRange(field.value)?.count == count ? 3 : nil),
                !isOther(field.name, rank),
                let number = answer.number(at: .header(field.name)), number >= 0
            else { continue }
            found.append(
                Candidate(
                    place: .header(field.name), rank: rank, number: number, isEstimate: soundsEstimated(field.name)))
        }
        if answer.response.header("Content-Range")?.contains("/") == true,
            let number = answer.number(at: .header("Content-Range")), number >= 0
        {
            found.append(Candidate(place: .header("Content-Range"), rank: 4, number: number, isEstimate: false))
        }
        return found
    }

    /// Whether a header counts other things than items: `X-Retry-Count`. `X-Result-Count` counts items.
    private static func isOther(_ name: String, _ rank: Int) -> Bool {
        let plain = EnvelopeMember.plain(name)
        return rank == 2
            && !["result", "item", "record", "row", "hit", "object", "entr", "match"].contains { plain.contains($0) }
    }

    /// The totals in a header that holds a JSON object (`X-Pagination: {"TotalCount":66}`).
    private static func totals(inJSON field: HTTPField) -> [Candidate] {
        guard field.value.hasPrefix("{"), let document = try? JSONDocument(Array(field.value.utf8), depthLimit: 4)
        else { return [] }
        return document.members(of: document.root).compactMap { name, value in
            guard let rank = rank(name), let number = document.integer(value), number >= 0 else { return nil }
            return Candidate(
                place: .header(field.name + Answer.headerMark + JSONPointer(tokens: [name]).description), rank: rank,
                number: number, isEstimate: soundsEstimated(name))
        }
    }

    /// Returns the header that counts the list in an answer to HEAD, which has no body, or nil if none does. A number
    /// that equals the length of the page counts only under the plainest names: under others it may count the page.
    static func totalPlace(inHeaders answer: HTTPPageResponse, atLeast count: Int) -> HTTPSourceConfiguration.Place? {
        var best: (name: String, rank: Int)?
        for field in answer.headers {
            let text =
                field.name.lowercased() == "content-range"
                ? field.value.split(separator: "/").last.map(String.init) : field.value
            guard let rank = field.name.lowercased() == "content-range" ? 4 : rank(field.name),
                !isOther(field.name, rank),
                let text,
                let number = JSONText.wholeNumber(text), number >= count, number > count || rank >= 4,
                rank > best?.rank ?? 0
            else { continue }
            best = (field.name, rank)
        }
        return best.map { .header($0.name) }
    }

    /// Whether a number that equals the length of the page may count the page. At the place that the caller names, it
    /// may if the page looks full, unless the name is a plain one (rank 4).
    private func isWeak(_ place: HTTPSourceConfiguration.Place, _ draft: DetectionDraft) -> Bool {
        let name =
            switch place {
            case .body(let pointer): pointer.tokens.last ?? ""
            case .header(let name): name
            }
        guard name.lowercased() != "content-range" else { return false }
        return Detector.rank(name) ?? 0 < 4 && answer.number(at: place) == draft.evidence.count
            && draft.evidence.looksFull
    }

    /// The member next to the total, or next to its object, that states whether the total is an estimate.
    private func estimateMark(beside total: JSONPointer) -> JSONPointer? {
        let names: Set<String> = [
            "relation", "isestimate", "isestimated", "estimate", "estimated", "approximate", "isapproximate",
            "totalisestimate", "totalisestimated",
            "totalrelation", "countrelation", "counttruncated", "totaltruncated", "exact", "isexact", "totalisexact",
            "exhaustive", "exhaustivenbhits",
        ]
        // `total_is_capped`, `approximate_total`: any boolean whose name says so.
        let words = ["estimat", "approx", "capped", "lowerbound"]
        func isMark(_ member: EnvelopeMember) -> Bool {
            switch member.kind {
            case .string: names.contains(member.plainName)
            case .boolean:
                names.contains(member.plainName) || words.contains { member.plainName.contains($0) }
            case .object, .array, .number, .null: false
            }
        }
        let places = [
            JSONPointer(tokens: Array(total.tokens.dropLast())), JSONPointer(tokens: Array(total.tokens.dropLast(2))),
        ]
        return places.lazy.compactMap { place in
            self.members.first { member in
                isMark(member) && member.pointer.tokens.dropLast() == place.tokens[...]
            }?.pointer
        }.first
    }
}
