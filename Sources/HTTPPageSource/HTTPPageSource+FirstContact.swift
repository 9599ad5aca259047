import PageModel
import PagedRepository
import Synchronization

/// The answer that a first contact begins with, and what was spent before it.
struct FirstContact {
    var answer: Answer
    /// Page one's items.
    var content: PageContent
    /// Requests that this source had sent before it asked for page one.
    var requestsBefore: Int
    /// What an earlier first contact came to, when that was not enough to go by.
    var earlier: SourceDescription?
}

// Finding out how an origin pages, from its first answer and a few questions.
extension HTTPPageSource {
    func firstContact(_ answer: Answer, _ size: Int?, _ requestsBefore: Int) async throws -> FetchedPage {
        let (known, stored) = state.withLock { ($0.description, $0.earlier) }
        var draft = try Detector.describe(answer, configuration)
        var contact = FirstContact(
            answer: answer, content: PageContent(), requestsBefore: requestsBefore, earlier: known ?? stored)
        try await askForSize(size, &draft, &contact)
        contact.content = try reader(draft, contact).content()
        if size != nil, draft.description.limitParameter == nil, contact.answer.url == url {
            // It refused the usual name, and shows no other.
            draft.description.ignoresSize = true
            draft.warnings.append(
                "no size is asked for (--limit-param names its parameter); the origin gives \(contact.content.count) items a page"
            )
        }

        try await askHead(&draft, contact)
        draft.evidence.hints.insert(contentsOf: places, at: 0)
        for name in places.compactMap(\.parameter) {
            draft.warnings.append("\(name) in the URL leads to a later page; the list is fetched from its beginning")
        }
        let candidates = PagingChoice.decide(&draft, configuration, url: contact.answer.url).filter { isAllowed($0) }
        if !candidates.isEmpty, hasSearched(draft, contact) {
            // Everything was tried before, and page one looks as it did then.
            draft.description.reasons = contact.earlier?.reasons
            PagingChoice.giveUp(&draft, configuration)
        } else {
            try await prove(candidates, &draft, contact)
            try await mendLinks(&draft, contact)
            PagingChoice.complete(&draft)
        }
        // Who asked is kept in any case.
        draft.description.credential = check

        var page = try reader(draft, contact).page()
        if draft.description.isTotalByHead == true, page.total == .unknown { page.total = draft.evidence.total }
        let description = draft.description
        state.withLock { state in
            state.description = description
            state.earlier = nil
        }
        if description != known {
            page.lesson = SourceLesson(
                paging: description.style.rawValue, source: description.json, warnings: draft.warnings)
        }
        return page
    }

    func reader(_ draft: DetectionDraft, _ contact: FirstContact) -> PageReader {
        PageReader(
            answer: contact.answer, description: draft.description, base: contact.answer.url, isFirst: true,
            limits: configuration.limits)
    }

    /// Requests that may still be spent on this first contact.
    func left(_ contact: FirstContact) -> Int {
        max(HTTPPageSource.detectionBudget - (usage.requests - contact.requestsBefore), 0)
    }

    /// R45: what carries the caller's secret carries no token.
    private func isAllowed(_ candidate: Candidate) -> Bool {
        candidate.parameter.map { name in !secrets.contains { $0.plainName == name } } ?? true
    }

    private func hasSearched(_ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        guard let searched = contact.earlier?.searched, draft.description.style == .none else { return false }
        return searched.items == draft.evidence.count && searched.total == draft.evidence.total.count
    }

    /// A size was asked for in the usual parameter, and the next URL shows that it has another name here: page one is
    /// asked for once more. Positions on another grid than that of all later pages would be of no use.
    private func askForSize(_ size: Int?, _ draft: inout DetectionDraft, _ contact: inout FirstContact) async throws {
        guard let size, let name = draft.description.limitParameter, contact.answer.url.value(of: name) == nil,
            draft.evidence.count != size,
            left(contact) > 0
        else { return }
        var url = self.url
        url.set(name, String(size))
        guard case .page(let again) = try await ask(url, contact),
            let better = try? Detector.describe(again, configuration)
        else { return }
        draft = better
        contact.answer = again
    }
}
