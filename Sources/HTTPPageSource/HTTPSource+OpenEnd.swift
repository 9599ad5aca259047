import PageModel
import PagedRepository
import Synchronization

// Lists that are read as one page although the answer shows more items than it has (an open end). Detection warns, and
// never reports such a page as the whole list.
extension HTTPSource {
    /// Finds an open end, adds its warning, and records the search. Returns nil when the page can be the whole list.
    func openEnd(_ draft: inout DetectionDraft, _ size: Int?, _ contact: FirstContact) async throws -> OpenEnd? {
        guard draft.description.style == .none, !draft.isProvenWhole || draft.unexplained != nil else { return nil }
        if draft.evidence.isMoreDenied, !draft.isInterrupted {
            draft.warnings.removeAll { $0.hasSuffix(Detector.contradiction) }
        }
        let earlier = contact.earlier?.searched
        let failed = (draft.description.reasons ?? []).filter { $0.field == "paging" && $0.reason == .failed }
        // A probe showed that no item follows page one. A total that equals its number of items then counts the list.
        if failed.contains(where: { $0.detail == ProbeFinding.lastItem.detail }) { draft.evidence.isTotalWeak = false }
        if draft.evidence.isTotalLikely, draft.unexplained == nil { draft.evidence.isTotalWeak = false }
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
            if draft.isInterrupted, draft.evidence.count > 0, draft.evidence.hasMore != false {
                end = end ?? OpenEnd.interrupted
            }
        }
        if let end, !draft.isInterrupted { draft.warnings.append(end.reason) }
        guard draft.description.isProvisional == true, !draft.isInterrupted else { return end }
        if let kept = draft.description.searched, kept.isWhole != true || end == nil { return end }
        let isSame = earlier?.items == draft.evidence.count && earlier?.total == draft.evidence.total.count
        // An origin that answers every unknown parameter with 404 does so again. A 404 beside other answers can be a
        // fault.
        let isMissing =
            draft.hadMiss
            && failed.contains {
                $0.detail?.hasPrefix("answered 404") != true && $0.detail?.hasPrefix("not tried") != true
            }
        let look = end == nil ? nil : draft.look
        draft.description.searched = PagingProfile.Searched(
            items: draft.evidence.count, total: draft.evidence.total.count,
            most: max(earlier?.most ?? 0, draft.evidence.count), runs: isSame ? min((earlier?.runs ?? 1) + 1, 4) : 1,
            isWhole: end == nil ? true : nil, isDoubtful: draft.hadTrouble || isMissing ? true : nil, look: look,
            at: look == nil ? nil : clock.now().milliseconds,
            warning: look == nil ? nil : end.map { secretWords.hidden($0.reason) })
        return end
    }

    /// The open end of a list whose style the caller named, when each parameter of that style returned page one again
    /// or was refused. No answer then shows that the list ends. Returns nil in every other case.
    private func unproved(_ draft: DetectionDraft) -> OpenEnd? {
        guard [.offset, .page, .keyset].contains(configuration.paging), draft.evidence.count > 0,
            !PagingChoice.isWhole(draft.evidence)
        else { return nil }
        let attempts = (draft.description.reasons ?? []).filter { $0.field == "paging" && $0.reason == .failed }
        let hasEnded = attempts.contains { isOpen($0.detail ?? "", false) }
        return attempts.isEmpty || hasEnded ? nil : OpenEnd.unproved(configuration.paging, method: configuration.method)
    }

    /// Whether page one may be the last page although it has a token. Either the origin states that the list ends, or
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

    /// Returns whether a larger page has the same items, when page one is as long as the size in the URL. The list then
    /// ends with page one, if no other position has other items. Sizes that origins use as a cap are not tested: the
    /// same items would show nothing.
    func isWholeByLargerSize(_ draft: DetectionDraft, _ contact: FirstContact) async throws -> Bool {
        let count = draft.evidence.count, evidence = draft.evidence
        guard body == nil, configuration.paging == .auto, !evidence.goesOn, evidence.token == nil,
            evidence.total == .unknown, !OpenEnd.usualSizes.contains(count), remainingRequests(contact) > 0,
            let name = configuration.limitParameter ?? ParameterNames.size(in: contact.answer.url),
            contact.answer.url.value(of: name) == "\(count)"
        else { return false }
        var url = contact.answer.url
        url.set(name, "\(2 * count + 1)")
        guard case .page(let answer) = try await sendProbe(url, contact),
            let content = try? PageReader(
                answer: answer, description: draft.description, base: url, isFirst: true, limits: configuration.limits
            ).content()
        else { return false }
        return content.identities == contact.content.identities
    }

    /// Refuses settings that contradict the stored paging profile, unless the answer confirms them. Nothing is stored
    /// after a refusal (R47).
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
