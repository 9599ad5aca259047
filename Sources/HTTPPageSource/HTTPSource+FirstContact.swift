import PageModel
import PagedRepository
import Synchronization

/// The state of a first contact. A first contact is the detection that an answer for page one starts, when no usable
/// paging profile is known.
struct FirstContact {
    var answer: Answer
    /// The items of page one.
    var content: PageContent
    /// The number of requests that this source had sent before it requested page one.
    var requestsBefore: Int
    /// The paging profile from before this first contact: it was too uncertain to use, or page one no longer fits it.
    var earlier: PagingProfile?
}

// Detection of how an origin pages, from its first answer and a few probes.
extension HTTPSource {
    func firstContact(_ answer: Answer, _ size: Int?, _ requestsBefore: Int) async throws -> FetchedPage {
        let (known, stored) = state.withLock { state in
            state.repeats = 0
            return (state.description, state.earlier)
        }
        let earlier = known ?? stored
        var draft = try describe(answer, earlier)
        var contact = FirstContact(
            answer: answer, content: PageContent(), requestsBefore: requestsBefore, earlier: earlier)
        try await requestSize(size, &draft, &contact)
        contact.content = try reader(draft, contact).content()
        state.withLock { state in
            state.hasAskedTwice = false
            state.retryWaitLeft = .seconds(5)
            state.unreadable = nil
        }
        try confirmPlaces(&draft, size, contact)
        try await confirmSize(&draft, contact)
        if size != nil, draft.description.limitParameter == nil, contact.answer.url == url {
            // The origin ignored the usual parameter name, and its answer shows no other name.
            draft.description.ignoresSize = true
            draft.warnings.append(
                "the page size was not requested, because no size parameter is known; set \(HTTPSourceConfiguration.Setting.limitParameter). The origin returns \(contact.content.count) items a page"
            )
        }

        draft.evidence.hints.insert(contentsOf: places, at: 0)
        for name in places.compactMap(\.parameter) {
            draft.warnings.append("\(name) in the URL leads to a later page; the list is fetched from its beginning")
        }
        let said = PagingChoice.said(draft, configuration, url: contact.answer.url)
        var candidates = PagingChoice.decide(&draft, configuration, url: contact.answer.url).filter { isAllowed($0) }
        if let body, !candidates.isEmpty { candidates = BodyCandidates.find(draft, body, configuration) }
        if !said.isEmpty { candidates = [] }
        var kept = candidates.isEmpty && said.isEmpty ? nil : keptSearch(candidates, draft, contact)
        let wasWhole = kept?.isWhole == true
        let hasSameAtLargerSize =
            candidates.isEmpty || kept != nil && !wasWhole
            ? false : try await isWholeByLargerSize(&draft, contact, wasWhole: wasWhole)
        // The list may have grown after page one, which was full at the time of the earlier search, too.
        if wasWhole, !hasSameAtLargerSize, sizeParameterOfFullPage(draft, contact) != nil { kept = nil }
        if let kept {
            // An earlier first contact tried every candidate, and page one looks the same as it did then.
            draft.description.style = .none
            draft.description.reasons = contact.earlier?.reasons
            draft.description.searched = kept
            if kept.isWhole == true { draft.evidence.isTotalWeak = false }
            draft.isProvenWhole = hasSameAtLargerSize
            PagingChoice.acceptPageOneOnly(&draft)
        } else if !said.isEmpty {
            try await proveSaid(said, &draft, size, &contact)
            PagingChoice.complete(&draft)
        } else {
            // The hash is computed before the search, because page one may change during it. The next run then sees
            // another hash.
            if !candidates.isEmpty { draft.look = look(candidates, contact) }
            try await prove(candidates, &draft, &contact)
            try await decideLinkParameters(&draft, contact)
            PagingChoice.complete(&draft)
            // The size may be the largest one that the origin returns, so the candidates were tried as well.
            if hasSameAtLargerSize, draft.description.style == .none, !draft.isInterrupted {
                try await repeatRefusals(&draft, contact)
                draft.isProvenWhole = !draft.isInterrupted
                draft.description.isProvisional = true
            }
            if draft.isProvenWhole, hasSameAtLargerSize {
                draft.explain("paging", "none", .proved, "a larger size returned the same items, a smaller one fewer")
                if draft.unexplained == nil { draft.description.searched = record(of: draft, contact, nil) }
            }
        }
        try await confirmItems(&draft, contact)
        try confirmFirstPage(draft)
        try await confirmBeginning(&draft, contact)
        try await sendHead(&draft, contact)
        try await confirmTotal(&draft, contact)
        try confirmHeader(draft, contact)
        let openEnd = try await openEnd(&draft, size, contact)
        try rejectUnproven(draft, contact)
        if let body {
            draft.description.method = .post
            let places = pagingPlaces(of: draft.description)
            draft.description.body = body.hasSecret ? nil : String(decoding: body.document.bytes, as: UTF8.self)
            draft.description.bodyText = body.hasSecret ? body.canonicalText(without: places) : nil
        }
        draft.description.encoding = BodyCharset.shown(by: contact.answer.response)
        // Every profile stores the check of the credential, if the caller has a credential.
        draft.description.credential = check

        var page = try reader(draft, contact).page()
        if draft.description.isTotalByHead == true, page.total == .unknown { page.total = draft.evidence.total }
        if openEnd != nil {
            page.hasMore = true
            // A total that is not larger than the page contradicts the open end, so this number counts the page.
            if page.total.count ?? .max <= page.content.count { page.total = .unknown }
        }
        let description = draft.description
        note(contact.answer, description)
        state.withLock { state in
            state.description = description
            state.earlier = nil
            state.multiples = PositionMultiples(pageSize: contact.content.count)
            state.isProfileNew = false
        }
        if description != known {
            page.detectedPaging = DetectedPaging(
                paging: description.style.rawValue, source: description.json, warnings: draft.warnings)
        }
        try await removeEndlessLink(&page, contact.answer, isFirst: true)
        return page
    }

    /// Describes the answer for page one. Some origins omit the array when the list has no items. If the answer has no
    /// array, the items are therefore expected at the place of the array in an earlier page one.
    func describe(_ answer: Answer, _ earlier: PagingProfile?) throws(FetchFailure) -> DetectionDraft {
        var configuration = self.configuration
        if configuration.items == nil, let items = earlier?.items, !items.tokens.isEmpty,
            answer.document.value(at: items) == nil,
            !answer.document.envelope().contains(where: { $0.kind == .array })
        {
            configuration.items = items
        }
        var draft = try Detector.describe(answer, configuration)
        draft.description.said = self.configuration.saying
        return draft
    }

    func reader(_ draft: DetectionDraft, _ contact: FirstContact) -> PageReader {
        PageReader(
            answer: contact.answer, description: draft.description, base: contact.answer.url, isFirst: true,
            limits: configuration.limits, mayLackItems: contact.earlier?.items == draft.description.items)
    }

    /// The number of requests that this first contact may still send. Repeats do not count (`repeats`).
    func remainingRequests(_ contact: FirstContact) -> Int {
        state.withLock { state in
            max(HTTPSource.detectionBudget + state.repeats - (state.usage.requests - contact.requestsBefore), 0)
        }
    }

    /// Returns whether a candidate may be tried: a parameter that carries a secret of the caller is never tried (R45).
    func isAllowed(_ candidate: Candidate) -> Bool {
        candidate.parameter.map { name in !secrets.contains { $0.plainName == name } } ?? true
    }

    /// Returns the last search of an earlier first contact, if it is not repeated now. A search is repeated when page
    /// one has another number of items or another total, and after a disturbance (`Searched.isDoubtful`), in at most
    /// three runs. A search that left the list unproven is also repeated when page one looks different, after a pause
    /// (`Searched.pause`), and when the caller names parameters, because these are not candidates.
    private func keptSearch(
        _ candidates: [Candidate], _ draft: DetectionDraft, _ contact: FirstContact
    ) -> PagingProfile.Searched? {
        guard let searched = contact.earlier?.searched, searched.isSettled, !configuration.detectsAnew,
            draft.description.style == .none || candidates.isEmpty, searched.items == draft.evidence.count,
            searched.total == draft.evidence.total.count
        else { return nil }
        if searched.isWhole == true { return searched }
        guard let at = searched.at, !candidates.isEmpty, searched.look == look(candidates, contact) else { return nil }
        let age = clock.now() - Timestamp(milliseconds: at)
        return age >= .zero && age < searched.pause ? searched : nil
    }

    /// A hash of the ids of page one and of the ways to continue that it suggests.
    private func look(_ candidates: [Candidate], _ contact: FirstContact) -> String {
        let keys = contact.content.identities.map { String($0.key, radix: 16) }
        return String(XXH64.hash((keys + candidates.map { name(of: $0) }).joined(separator: "\n")), radix: 16)
    }

    /// Fetches page one once more with the size parameter that the next URL reveals. The first request used the usual
    /// name, and the origin uses another. Without this request, page one would have another size than all later pages.
    private func requestSize(_ size: Int?, _ draft: inout DetectionDraft, _ contact: inout FirstContact) async throws {
        guard let size, let name = draft.description.limitParameter, contact.answer.url.value(of: name) == nil,
            draft.evidence.count != size,
            remainingRequests(contact) > 0
        else { return }
        var url = self.url
        url.set(name, String(size))
        guard case .page(let again) = try await sendProbe(url, contact),
            let better = try? Detector.describe(again, configuration)
        else { return }
        draft = better
        contact.answer = again
    }
}
