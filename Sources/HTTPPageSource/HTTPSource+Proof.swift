import PageModel
import PagedRepository
import Synchronization

// The proof of a candidate: the answer to its probe, compared with page one, and a second answer that differs again.
extension HTTPSource {
    /// Confirms a chain by the page after the one that proved it. If the origin ignores the parameter and its list
    /// changed between two answers, that page has the same items again. The walk of the chain that follows uses this
    /// answer, so that the confirmation costs no extra request.
    func confirmed(
        _ verdict: ProbeVerdict, _ second: Answer?, _ trial: PagingProfile, _ draft: inout DetectionDraft,
        _ contact: FirstContact
    ) async throws -> ProbeVerdict {
        guard case .proved = verdict, let second else { return verdict }
        guard remainingRequests(contact) > 0 else {
            return draft.isRestless ? .failed(ProbeFinding.changed) : verdict
        }
        let reader = PageReader(
            answer: second, description: trial, base: contact.answer.url, isFirst: false, limits: configuration.limits)
        guard let content = try? reader.content(), !content.isEmpty,
            let next = try? reader.next(behind: content).flatMap({ OriginURL($0.text) })
        else { return verdict }
        guard next != second.url else { return .failed("the token stays the same") }
        let reply = try await sendProbe(next, contact)
        if case .silent = reply { draft.wantsQuiet = true }
        guard case .page(let third) = reply else { return verdict }
        state.withLock { $0.ready.keep(third.response, for: next, now: clock.now()) }
        let behind = PageReader(
            answer: third, description: trial, base: contact.answer.url, isFirst: false, limits: configuration.limits)
        guard let items = try? behind.content(), !items.isEmpty else { return verdict }
        for known in [content, contact.content]
        where ProbeFinding.following(known.identities.map(\.key), items.identities.map(\.key)) != .proved {
            draft.isRestless = true
            return .failed(ProbeFinding.sameAgain)
        }
        return verdict
    }

    /// Refuses `page=1` in the caller's URL at an origin that numbers its pages from 0. The list would miss its first
    /// page. Stops detection instead if page one has changed meanwhile.
    /// - Throws: `FetchFailure` with class `rejected` when page 0 has other items.
    func confirmBeginning(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        // An empty page one may be the page after the only one.
        let isEmpty = contact.content.isEmpty && draft.evidence.exactTotal != 0
        guard isEmpty || draft.description.style == .page && draft.description.firstPage == 1,
            configuration.firstPage == nil, configuration.paging != .none,
            let name = draft.description.pageParameter
                ?? ParameterNames.page.first(where: { url.value(of: $0) == "1" }),
            url.value(of: name) == "1", !draft.isInterrupted,
            remainingRequests(contact) > 0
        else { return }
        var before = contact.answer.url
        before.set(name, "0")
        guard case .page(let answer) = try await sendProbe(before, contact),
            let content = try? PageReader(
                answer: answer, description: draft.description, base: before, isFirst: true,
                limits: configuration.limits
            ).content(), !content.isEmpty, isEmpty || content.count <= contact.content.count
        else { return }
        let known = Set(contact.content.identities.map(\.key))
        guard content.identities.allSatisfy({ !known.contains($0.key) }) else { return }
        guard try await !hasChanged(draft, contact) else {
            draft.description.style = .none
            return interrupt(&draft, HTTPSource.listChanged)
        }
        throw FetchFailure(
            .rejected, "\(name)=1 in the URL is the second page: \(name)=0 has other items; use \(name)=0",
            isRetryable: false)
    }

    /// Confirms the offset after a page one of one item: page one must be the same again. An item that changes with
    /// every request would prove any parameter.
    func isPageOneStable(_ verdict: ProbeVerdict, _ draft: inout DetectionDraft, _ contact: FirstContact) async throws
        -> ProbeVerdict
    {
        guard remainingRequests(contact) > 0 else { return verdict }
        switch try await compare(contact.answer.url, &draft, contact, { $0 == $1 ? .pageOne : .somethingElse }) {
        case .failed(ProbeFinding.pageOne.detail): return verdict
        case .interrupted(let detail): return .interrupted(detail)
        case .failed, .proved: return .failed("the origin returns other items each time")
        }
    }

    /// Returns false when page `number` has the items of the page before: the origin ignores the parameter, and its
    /// list has changed. Returns true for other items, for no items and without an answer. The answer is kept, because
    /// the run that follows needs this page.
    func differsFromPageBefore(
        _ before: Answer?, _ name: String, _ number: Int, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> Bool {
        let description = draft.description
        func items(_ answer: Answer) -> [UInt64]? {
            let reader = PageReader(
                answer: answer, description: description, base: contact.answer.url, isFirst: false,
                limits: configuration.limits)
            return (try? reader.content())?.identities.map(\.key)
        }
        var url = contact.answer.url
        url.set(name, String(number))
        guard remainingRequests(contact) > 0, let known = before.flatMap(items) else { return true }
        let reply = try await sendProbe(url, contact)
        if case .silent = reply { draft.wantsQuiet = true }
        guard case .page(let answer) = reply, let found = items(answer), !found.isEmpty
        else { return true }
        state.withLock { $0.ready.keep(answer.response, for: url, now: clock.now()) }
        return ProbeFinding.following(known, found) == .proved
    }

    /// Returns false when a later offset has the items of the answer that proved the parameter: the origin ignores the
    /// parameter, and its list has lost an item. Returns true for other items, for no items and without an answer.
    func differsAtLaterOffset(
        _ second: Answer?, _ name: String, _ offset: Int, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> Bool {
        let description = draft.description
        func items(_ answer: Answer) -> [UInt64]? {
            let reader = PageReader(
                answer: answer, description: description, base: contact.answer.url, isFirst: false,
                limits: configuration.limits)
            return (try? reader.content())?.identities.map(\.key)
        }
        guard let known = second.flatMap(items) else { return true }
        var url = contact.answer.url
        url.set(name, String(offset))
        let reply = try await sendProbe(url, contact)
        if case .silent = reply { draft.wantsQuiet = true }
        guard case .page(let answer) = reply, let found = items(answer), !found.isEmpty else { return true }
        return ProbeFinding.following(known, found) == .proved
    }

    /// Requests `url`, and compares the answer with page one.
    /// - Parameters:
    ///   - trial: the paging profile that reads the next page from the answer. An answer without items then also proves
    ///     a strong token, if it names a further page: its items are hidden (R53). Defaults to nil: an answer without
    ///     items proves nothing.
    ///   - next: the requested page, which does not count as a further one.
    func compare(
        _ url: OriginURL, _ draft: inout DetectionDraft, _ contact: FirstContact,
        reading trial: PagingProfile? = nil, from next: OriginURL? = nil,
        _ find: ([UInt64], [UInt64]) -> ProbeFinding
    ) async throws -> ProbeVerdict {
        var answer: Answer?
        return try await compare(url, &draft, contact, reading: trial, from: next, answer: &answer, find)
    }

    func compare(
        _ url: OriginURL, _ draft: inout DetectionDraft, _ contact: FirstContact,
        reading trial: PagingProfile? = nil, from next: OriginURL? = nil, answer found: inout Answer?,
        _ find: ([UInt64], [UInt64]) -> ProbeFinding
    ) async throws -> ProbeVerdict {
        switch try await sendProbeWithRepeat(url, &draft, contact) {
        case .spent: return .failed("not tried")
        case .refused(let detail, _): return .failed(detail)
        case .silent(let detail): return .interrupted(detail)
        case .page(let answer):
            let reader = PageReader(
                answer: answer, description: draft.description, base: contact.answer.url, isFirst: false,
                limits: configuration.limits)
            let content: PageContent
            do throws(FetchFailure) {
                content = try reader.content()
            } catch {
                state.withLock { $0.unreadable = error.message }
                // Items at another place are items that page one lacks.
                if reader.hasMovedItems { draft.sawOthers = true }
                return .failed(ProbeFinding.unreadable)
            }
            let (one, two) = (contact.content.identities.map(\.key), content.identities.map(\.key))
            let finding = find(one, two)
            if finding == .nothing, let trial {
                let empty = PageReader(
                    answer: answer, description: trial, base: contact.answer.url, isFirst: false,
                    limits: configuration.limits)
                draft.namesSamePage = empty.namesItself
                draft.namesNoPage = !empty.isNextLive
                if trial.isTokenWeak != true, try namesFurtherPage(empty, from: next, contact) {
                    return .proved(first: nil)
                }
            }
            let total = PageReader.total(of: answer, draft.description).total
            // A number that equals the length of each answer counts the answer, and shows no other list.
            let countsPage = draft.evidence.isTotalWeak && total.exactCount == content.count
            let isFiltered = !countsPage && ProbeFinding.isFiltered(draft.evidence.total, total)
            if !isFiltered, ProbeFinding.following(one, two) == .proved { draft.sawOthers = true }
            if finding == .lastItem { draft.probedTotal = total.exactCount }
            if finding == .nothing {
                let isSame = total.exactCount ?? 0 > 0 && total.exactCount == draft.evidence.total.exactCount
                var isOpen = isSame && draft.evidence.isTotalWeak
                if isOpen { isOpen = try await countsPages(url, draft.description, contact) }
                if isOpen, draft.evidence.isTotalLikely { draft.sawOthers = true }
                if !isOpen {
                    draft.emptyTotal = total.exactCount
                    draft.hasTotalWithoutItems = draft.hasTotalWithoutItems || isSame
                }
            }
            guard finding == .proved else { return .failed(finding.detail) }
            if isFiltered { return .failed("returned another list, of \(total.count ?? 0) items") }
            draft.probedTotal = total.exactCount
            state.withLock { $0.ready.keep(answer.response, for: url, now: clock.now()) }
            found = answer
            return .proved(first: nil)
        }
    }

    /// Returns whether the parameter of a probe that returned no item counts pages. Value 1 of such a parameter returns
    /// items that page one lacks, and a total that the empty answer repeats is the size of a page. Returns true when no
    /// request is left to find out.
    private func countsPages(
        _ url: OriginURL, _ description: PagingProfile, _ contact: FirstContact
    ) async throws -> Bool {
        guard
            let name = url.parameters.first(where: {
                contact.answer.url.value(of: $0.plainName) != $0.plainValue && Int($0.plainValue) ?? 0 > 2
            })?.plainName
        else { return false }
        guard remainingRequests(contact) > 0 else { return true }
        return try await returnsOthers(name, at: 1, description, contact)
    }

    /// Whether the answer for a value of a parameter has items that page one lacks. Returns false without a readable
    /// answer.
    func returnsOthers(
        _ name: String, at number: Int, _ description: PagingProfile, _ contact: FirstContact
    ) async throws -> Bool {
        var url = contact.answer.url
        url.set(name, String(number))
        guard case .page(let answer) = try await sendProbe(url, contact),
            let content = try? PageReader(
                answer: answer, description: description, base: contact.answer.url, isFirst: false,
                limits: configuration.limits
            ).content()
        else { return false }
        let known = Set(contact.content.identities.map(\.key))
        return content.identities.contains { !known.contains($0.key) }
    }

    /// Whether an answer without items names a further page, other than the requested one and page one.
    private func namesFurtherPage(_ answer: PageReader, from url: OriginURL?, _ contact: FirstContact) throws -> Bool {
        guard let next = try answer.next(behind: PageContent()).flatMap({ OriginURL($0.text) }) else { return false }
        return next != url && next != contact.answer.url
    }
}
