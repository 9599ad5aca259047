import PageModel
import PagedRepository
import Synchronization

// Verdicts on probes of an offset and of a page number.
extension HTTPSource {
    /// Requests the offset of page one's last item, or offset 1 after a page one of one item. An answer that begins
    /// with two or more items of page one has one of three reasons: the origin counts from 1, the list has grown
    /// meanwhile, or page one lacks items. An answer with at least half of page one's items may also show that the
    /// origin ignores the parameter. A later offset must then have other items.
    func evaluateOffset(
        _ name: String, _ first: Int, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> ProbeVerdict {
        let count = contact.content.count
        var url = contact.answer.url
        url.set(name, String((count > 1 ? count - 1 : count) + first))
        var overlap = 0
        var second: Answer?
        func look(_ draft: inout DetectionDraft) async throws -> ProbeVerdict {
            try await compare(url, &draft, contact, answer: &second) { one, two in
                overlap = ProbeFinding.overlap(one, two)
                return ProbeFinding.offset(one, two)
            }
        }
        var verdict = try await look(&draft)
        if case .failed(ProbeFinding.nothing.detail) = verdict, mayBeFault(draft, contact), consumeRepeat() {
            draft.hasRepeatedEmpty = true
            verdict = try await look(&draft)
        }
        // Page one has an item at this position. An answer without that item is therefore not the end: the parameter
        // does not count positions, or it accepts only multiples of the page size.
        let isRefuted = if count > 1, case .failed(let detail) = verdict { isBehindEnd(detail) } else { false }
        if isRefuted, count > 2, draft.evidence.isTotalLikely, !draft.sawOthers {
            draft.sawOthers = try await returnsOthers(name, at: 1 + first, draft.description, contact)
        }
        if case .failed(let detail) = verdict, mayNeedMultiples(name, detail, isRefuted, draft, contact) {
            draft.hasTriedMultiple = true
            url.set(name, String(count + first))
            let aligned = try await compare(url, &draft, contact) { ProbeFinding.following($0, $1) }
            if try await endsAtMultiple(aligned, behind: detail, name, first, &draft, contact) {
                return .proved(first: nil)
            }
            if case .failed(let detail) = aligned, isBehindEnd(detail), isRefuted || !showsNoMore(draft) {
                return .failed(isRefuted ? "\(detail), and \(ProbeFinding.refuted)" : detail)
            }
            return followsMultiples(aligned, count, &draft)
        }
        if isRefuted, case .failed(let detail) = verdict { return .failed("\(detail), and \(ProbeFinding.refuted)") }
        if case .failed(ProbeFinding.lastItem.detail) = verdict {
            if draft.evidence.hasMore == true || draft.evidence.total.exactCount ?? 0 > count {
                return .proved(first: nil)
            }
            // The following items may be hidden, or the origin limits an answer by its bytes. In both cases a later
            // offset has items.
            guard remainingRequests(contact) > 0 else { return verdict }
            url.set(name, String(2 * count - 1 + first))
            let later = try await compare(url, &draft, contact) { one, two in
                two.isEmpty ? .nothing : two.contains { Set(one).contains($0) } ? .pageOne : .proved
            }
            guard case .failed(let detail) = later, isBehindEnd(detail) else { return later }
            // Only a parameter for a position returns the last item alone, and nothing a page later. The list ends with
            // page one. A total that both answers state counts the list.
            if draft.probedTotal == draft.evidence.total.exactCount { draft.evidence.isTotalWeak = false }
            return .proved(first: nil)
        }
        if case .proved = verdict, count == 1 { return try await isPageOneStable(verdict, &draft, contact) }
        guard case .proved = verdict, overlap > 1 else { return verdict }
        // An origin that ignores the parameter returns most items of page one.
        if !draft.sawOthers, 2 * overlap >= count {
            guard remainingRequests(contact) > 0 else { return .failed("not confirmed: no request is left") }
            guard try await differsAtLaterOffset(second, name, 2 * count - 1 + first, &draft, contact) else {
                return .failed(ProbeFinding.sameAgain)
            }
        }
        return first == 0 ? try await evaluateFirstPosition(name, &draft, contact) : verdict
    }

    /// Whether an answer without items to an offset of page one may be a temporary fault (R20). Page one is full, and
    /// nothing else shows how the list continues. Only the first such answer of a first contact is requested again.
    private func mayBeFault(_ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        let isFull =
            evidence.looksFull || OpenEnd.usualSizes.contains(evidence.count)
            || statedSizes(draft, nil, contact).contains(evidence.count)
        return !draft.hasRepeatedEmpty && isFull && evidence.count > 1 && evidence.total == .unknown
            && !draft.isChained
    }

    /// Returns the verdict on a refused offset, from the answer for a multiple of the page size. At a multiple, a
    /// parameter for a position returns the next page, or no items after the end.
    private func followsMultiples(
        _ verdict: ProbeVerdict, _ count: Int, _ draft: inout DetectionDraft
    ) -> ProbeVerdict {
        switch verdict {
        case .proved: break
        case .failed(let detail) where isBehindEnd(detail): believeTotal(&draft)
        case .failed, .interrupted: return verdict
        }
        draft.description.acceptMultiples(of: count)
        return .proved(first: nil)
    }

    /// Accepts a total that may count only page one, if the answer after the end of the list repeats it.
    func believeTotal(_ draft: inout DetectionDraft) {
        if draft.emptyTotal == draft.evidence.total.exactCount { draft.evidence.isTotalWeak = false }
    }

    /// Finds the position of the first item, 0 or 1. Position 1 returns page one if positions count from 1, or if the
    /// list has grown by one item meanwhile. Page one is therefore requested again. If it has changed, the answer for
    /// position 1 proves nothing.
    private func evaluateFirstPosition(_ name: String, _ draft: inout DetectionDraft, _ contact: FirstContact)
        async throws
        -> ProbeVerdict
    {
        var url = contact.answer.url
        url.set(name, "1")
        var first = 0
        for again in [url, contact.answer.url] {
            guard remainingRequests(contact) > 0 else { return .failed("not tried whether it counts from 0 or from 1") }
            switch try await compare(again, &draft, contact, { $0 == $1 ? .pageOne : .somethingElse }) {
            case .failed(ProbeFinding.pageOne.detail):
                if again == url { first = 1 }
            case .interrupted(let detail): return .interrupted(detail)
            case .failed, .proved:
                if again == url { continue }
                // For a list that changes with every request, 0 is assumed: most origins count from 0.
                let isBusy = draft.renewals > 0 && !ParameterNames.countedFromOne.contains(name)
                return isBusy ? .proved(first: 0) : .failed(ProbeFinding.changed)
            }
        }
        return .proved(first: first)
    }

    /// Whether the origin may have refused an offset because it is not a multiple of the page size. Either the answer,
    /// the URL or the caller names the parameter or its style. Or no multiple has been tried yet, page one names no
    /// next page, and the total counts more items or may count only the page.
    private func mayNeedMultiples(
        _ name: String, _ detail: String, _ isRefuted: Bool, _ draft: DetectionDraft, _ contact: FirstContact
    ) -> Bool {
        if mayWantMultiples(name, detail, draft, contact) { return true }
        let isNamed =
            configuration.offsetParameter == name || contact.answer.url.value(of: name) != nil
            || draft.evidence.next?.value(of: name) != nil
            || configuration.paging == .offset
            || contact.answer.document.envelope().contains { $0.name == name && $0.kind == .number }
            || !draft.hasTriedMultiple && !draft.isChained
                && (draft.evidence.isTotalWeak || draft.evidence.exactTotal ?? 0 > contact.content.count)
        return isNamed && contact.content.count > 1 && remainingRequests(contact) > 0
            && (isRefuted || ["answered 400", "answered 422"].contains(detail))
    }

    /// Finds the number of page one, and whether the parameter numbers pages at all. A page with other items is not
    /// enough, because some origins return other items at every call. The number of page one must also return page one.
    /// If the URL or the answer states that number, it suffices that the two pages after page one differ.
    func evaluatePages(
        _ name: String, _ said: Int?, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> ProbeVerdict {
        var answer: Answer?
        func look(_ number: Int, _ draft: inout DetectionDraft) async throws -> ProbeVerdict {
            var url = contact.answer.url
            url.set(name, String(number))
            return try await compare(url, &draft, contact, answer: &answer) { ProbeFinding.following($0, $1) }
        }
        if let said = contact.answer.url.value(of: name).flatMap({ Int($0) }) ?? said {
            let first = said == 0 ? 0 : 1
            switch try await look(first + 1, &draft) {
            case .proved:
                let isLast = endsWithSecond(draft, contact) && remainingRequests(contact) > 0
                if !isLast, try await differsFromPageBefore(answer, name, first + 2, &draft, contact) {
                    return .proved(first: first)
                }
                guard remainingRequests(contact) > 0 else {
                    return .failed("\(first + 2) returned the same items as \(first + 1)")
                }
                // An origin may return its last page for every later number. Then the number of page one must return
                // page one.
                switch try await look(first, &draft) {
                case .failed(ProbeFinding.pageOne.detail): return .proved(first: first)
                case .failed, .proved: return .failed("\(first) did not return page one")
                case .interrupted(let detail): return .interrupted(detail)
                }
            case .failed(let detail):
                guard isBehindEnd(detail), showsNoMore(draft) else { return .failed(detail) }
                if contact.answer.url.value(of: name) != "\(first)" {
                    // A parameter that filters the list to nothing also does so for the number of page one.
                    guard remainingRequests(contact) > 0 else {
                        return .failed("\(detail), and \(first) was not tried")
                    }
                    switch try await look(first, &draft) {
                    case .failed(ProbeFinding.pageOne.detail): break
                    case .failed, .proved: return .failed("\(first) did not return page one")
                    case .interrupted(let detail): return .interrupted(detail)
                    }
                }
                believeTotal(&draft)
                return .proved(first: first)
            case .interrupted(let detail): return .interrupted(detail)
            }
        }
        switch try await look(2, &draft) {
        case .proved:
            break
        // A list of two pages that are numbered from 0 has no page 2.
        case .failed(let detail) where isBehindEnd(detail) || isRefused(detail) && mayEndWithSecond(draft, contact):
            break
        case let verdict:
            return verdict
        }
        switch try await look(1, &draft) {
        case .failed(let detail) where detail == ProbeFinding.pageOne.detail:
            believeTotal(&draft)
            return .proved(first: 1)
        case .proved:
            switch try await look(0, &draft) {
            case .failed(ProbeFinding.pageOne.detail): return .proved(first: 0)
            case .failed, .proved: return .failed("no page number returns page one")
            case .interrupted(let detail): return .interrupted(detail)
            }
        case .failed(let detail): return .failed("\(detail) for page 1")
        case .interrupted(let detail): return .interrupted(detail)
        }
    }

    /// Whether a probe has shown that no item follows.
    private func isBehindEnd(_ detail: String) -> Bool {
        detail == ProbeFinding.nothing.detail || detail == "answered 404" || detail == "answered 416"
    }

    /// Whether the origin refused the number as an invalid value. An origin that answers 400 may not know the
    /// parameter.
    private func isRefused(_ detail: String) -> Bool { detail == "answered 422" }

    /// Whether page one states that the list has two pages, or states that more items follow, without a total.
    private func mayEndWithSecond(_ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        let isCounted = evidence.pageCount != nil || evidence.exactTotal != nil
        return isCounted ? endsWithSecond(draft, contact) : evidence.goesOn
    }

    /// Whether nothing in page one shows that items follow. An answer without items for the number of the next page
    /// then shows that the list ends, if the number of page one returns page one.
    func showsNoMore(_ draft: DetectionDraft) -> Bool {
        let evidence = draft.evidence
        return !evidence.goesOn && evidence.part == nil && evidence.total.count ?? 0 <= evidence.count
    }

    /// Whether page one states that the list has two pages. A total of at most twice the items of page one counts as
    /// such a statement.
    private func endsWithSecond(_ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        return evidence.pageCount.map { $0 == 2 }
            ?? evidence.exactTotal.map { $0 <= 2 * contact.content.count } ?? false
    }
}
