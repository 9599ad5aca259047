import PageModel
import PagedRepository
import Synchronization

// Lists that are read as one page although the answer shows that more items exist (an open end). Detection warns, and
// never reports such a page as the whole list.
extension HTTPSource {
    /// Finds an open end, adds its warning, and records the search. Returns nil when a way to the next page is known,
    /// or when page one can be the whole list.
    func openEnd(_ draft: inout DetectionDraft, _ size: Int?, _ contact: FirstContact) async throws -> OpenEnd? {
        guard draft.description.style == .none, !draft.isProvenWhole || draft.unexplained != nil else { return nil }
        if draft.evidence.isMoreDenied, !draft.isInterrupted {
            draft.warnings.removeAll { $0.hasSuffix(Detector.contradiction) }
        }
        let earlier = contact.earlier?.searched
        let failed = (draft.description.reasons ?? []).filter { $0.field == "paging" && $0.reason == .failed }
        // A probe showed that no item follows page one. A total that equals its number of items then counts the list.
        if failed.contains(where: { $0.detail == ProbeFinding.lastItem.detail }) { draft.evidence.isTotalWeak = false }
        if draft.evidence.isTotalLikely || draft.hasTotalWithoutItems, draft.unexplained == nil {
            draft.evidence.isTotalWeak = false
        }
        var end: OpenEnd?
        if configuration.paging != .none {
            if draft.evidence.isTotalSupported, draft.unexplained == nil { draft.evidence.isTotalWeak = false }
            end = OpenEnd.find(
                draft, sizes: statedSizes(draft, size, contact), most: earlier?.most,
                response: contact.answer.response, paging: configuration.paging, method: configuration.method)
            end = end ?? unproved(draft) ?? draft.unexplained.map { OpenEnd.unexplained($0) }
            if end != nil, let detail = state.withLock({ $0.unreadable }) {
                end = OpenEnd.unreadable(detail)
            }
            if let warning = draft.description.searched?.warning { end = OpenEnd.found(warning) }
            if end == nil, !draft.isInterrupted { try await repeatRefusals(&draft, contact) }
            if draft.isInterrupted, draft.evidence.count > 0, draft.evidence.hasMore != false {
                end = end ?? OpenEnd.interrupted
            }
        }
        if let end, !draft.isInterrupted { draft.warnings.append(end.reason) }
        guard draft.description.isProvisional == true, !draft.isInterrupted else { return end }
        if let kept = draft.description.searched, kept.isWhole != true || end == nil { return end }
        draft.description.searched = record(of: draft, contact, end)
        return end
    }

    /// The record of a search that has found no way to a next page. `nil` for `end` means that page one is the whole
    /// list.
    func record(of draft: DetectionDraft, _ contact: FirstContact, _ end: OpenEnd?) -> PagingProfile.Searched {
        let earlier = contact.earlier?.searched
        let isSame = earlier?.items == draft.evidence.count && earlier?.total == draft.evidence.total.count
        let isDoubtful =
            draft.hadTrouble || !draft.misses.isEmpty || draft.changes > 0 || draft.unexplained != nil
        let look = end == nil ? nil : draft.look
        return PagingProfile.Searched(
            items: draft.evidence.count, total: draft.evidence.total.count,
            most: max(earlier?.most ?? 0, draft.evidence.count),
            runs: isSame ? min((earlier?.runs ?? 1) + 1, PagingProfile.Searched.mostCounted) : 1,
            isWhole: end == nil ? true : nil, isDoubtful: isDoubtful ? true : nil, look: look,
            at: look == nil ? nil : clock.now().milliseconds,
            warning: look == nil ? nil : end.map { secretWords.hidden($0.reason) })
    }

    /// The open end of a list whose style the caller named, when parameters of that style were tried and no answer
    /// shows that the list ends (`isOpen`). Returns nil in all other cases.
    private func unproved(_ draft: DetectionDraft) -> OpenEnd? {
        guard [.offset, .page, .keyset].contains(configuration.paging), draft.evidence.count > 0,
            !PagingChoice.isWhole(draft.evidence)
        else { return nil }
        let attempts = (draft.description.reasons ?? []).filter { $0.field == "paging" && $0.reason == .failed }
        let hasEnded = attempts.contains { isOpen($0.detail ?? "", false) }
        return attempts.isEmpty || hasEnded ? nil : OpenEnd.unproved(configuration.paging, method: configuration.method)
    }

    /// Whether page one may be the last page although it has a token. Either the origin states that the list ends. Or
    /// the token leads to an answer that names itself as the next page, and page one does not have the size of a full
    /// page.
    func mayEnd(_ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        if evidence.isMoreDenied { return true }
        return draft.namesSamePage && evidence.hasStrongToken && evidence.hasMore != true && !evidence.looksFull
            && !OpenEnd.usualSizes.contains(evidence.count)
            && !statedSizes(draft, nil, contact).contains(evidence.count)
    }

    /// The sizes of a full page: the size in the URL, the requested one, and those that the answer states.
    func statedSizes(_ draft: DetectionDraft, _ size: Int?, _ contact: FirstContact) -> Set<Int> {
        let url = contact.answer.url
        let inURL = (ParameterNames.limit + [configuration.limitParameter].compactMap(\.self)).compactMap { name in
            url.value(of: name).flatMap { Int($0) }
        }
        return Set(inURL + [size].compactMap(\.self) + draft.evidence.sizes)
    }

    /// Returns the size parameter of the URL when page one has exactly that many items and shows nothing else about the
    /// end of the list. Returns nil for the usual sizes (`OpenEnd.usualSizes`), which origins use as a cap: the same
    /// items for a larger size would show nothing.
    func sizeParameterOfFullPage(_ draft: DetectionDraft, _ contact: FirstContact) -> String? {
        let evidence = draft.evidence
        guard body == nil, configuration.paging == .auto, !evidence.goesOn, evidence.token == nil,
            evidence.total == .unknown, !OpenEnd.usualSizes.contains(evidence.count),
            let name = configuration.limitParameter ?? ParameterNames.size(in: contact.answer.url),
            contact.answer.url.value(of: name) == "\(evidence.count)"
        else { return nil }
        return name
    }

    /// Returns whether a larger page has the same items, and a smaller one has the first of them. Without the smaller
    /// page, an origin that ignores the size would pass. The list then ends with page one, if no other position has
    /// other items. A page of one item proves nothing, because no smaller page can be requested. If an earlier search
    /// proved the size (`wasWhole`), no smaller page is requested.
    func isWholeByLargerSize(
        _ draft: inout DetectionDraft, _ contact: FirstContact, wasWhole: Bool
    ) async throws -> Bool {
        guard let name = sizeParameterOfFullPage(draft, contact) else { return false }
        let known = contact.content.identities.map(\.key)
        guard known.count > 1, try await keys(name, size: 2 * known.count + 1, &draft, contact) == known else {
            return false
        }
        if wasWhole { return true }
        return try await keys(name, size: known.count - 1, &draft, contact) == Array(known.dropLast())
    }

    /// Requests page one with another size, and returns the keys of its items. Returns nil when no request is left, or
    /// when the answer has no readable items.
    private func keys(
        _ name: String, size: Int, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> [UInt64]? {
        var url = contact.answer.url
        url.set(name, "\(size)")
        switch try await sendProbe(url, contact) {
        case .page(let answer):
            let reader = PageReader(
                answer: answer, description: draft.description, base: url, isFirst: true, limits: configuration.limits)
            return (try? reader.content())?.identities.map(\.key)
        case .refused(_, let status):
            draft.hadTrouble = draft.hadTrouble || status == 0 || status >= 500
        case .silent:
            draft.hadTrouble = true
        case .spent:
            break
        }
        return nil
    }

    /// Refuses settings that contradict the stored paging profile, unless page one confirms them.
    /// - Throws: `FetchFailure` with class `rejected`. The stored list then stays unchanged (R47).
    func rejectUnproven(_ draft: DetectionDraft, _ contact: FirstContact) throws(FetchFailure) {
        guard let stored = state.withLock({ $0.contradicted }), configuration.saying != nil else { return }
        let lacksItems = contact.content.isEmpty && stored.style != .none
        let isAlone =
            ![.auto, .none].contains(configuration.paging) && draft.description.style == .none
            && stored.style != .none
        guard lacksItems || isAlone else { return }
        throw FetchFailure(
            .rejected,
            "the settings (\(configuration.saying ?? "")) do not prove themselves on page one; the list stays as it is",
            isRetryable: false)
    }
}
