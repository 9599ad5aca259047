import PageModel
import PagedRepository
import Synchronization

// Finding out how an origin pages, from its first answer and a few questions.
extension HTTPPageSource {
    func firstContact(_ answer: Answer) async throws -> FetchedPage {
        var draft = try Detector.describe(answer, configuration)
        draft.description.credential = check
        var page = try PageReader.page(from: answer, draft.description, isFirst: true, limits: configuration.limits)
        if draft.wantsProbes {
            draft = await probe(draft, page)
            page = try PageReader.page(from: answer, draft.description, isFirst: true, limits: configuration.limits)
        }
        // Who asked is kept in any case.
        draft.description.isProvisional = draft.isProvisional ? true : nil
        let description = draft.description
        state.withLock { $0.description = description }
        page.lesson = SourceLesson(
            paging: description.style.rawValue, source: description.json, warnings: draft.warnings)
        return page
    }

    /// Asks for what would be the second page in the usual ways, until an answer proves one: mostly other items than
    /// page one's. (Not all others: the list may have moved by an item meanwhile.) First what the URL itself has, then
    /// `offset`, `page`, `skip`, `_page`, `_start`. For page numbers it is asked first whether page 1 is page one.
    private func probe(_ draft: SourceLessonDraft, _ page: FetchedPage) async -> SourceLessonDraft {
        var draft = draft
        let count = page.content.count
        var candidates: [(SourceDescription.Style, String)] = [
            (.offset, "offset"), (.page, "page"), (.offset, "skip"), (.page, "_page"), (.offset, "_start"),
        ]
        if let name = draft.description.pageParameter { candidates.insert((.page, name), at: 0) }
        if let name = draft.description.offsetParameter { candidates.insert((.offset, name), at: 0) }
        for (style, name) in candidates {
            switch style {
            case .offset:
                guard await isOther(name, String(count), page, draft) else { continue }
                draft.description.offsetParameter = name
            case .page:
                guard let first = await firstPageNumber(name, page, draft) else { continue }
                draft.description.pageParameter = name
                draft.description.firstPage = first
                draft.description.gridSize = max(count, 1)
            case .link, .nextURL, .none:
                continue
            }
            draft.description.style = style
            return draft
        }
        // Nothing is remembered of an origin that kept silent: the next run looks again.
        draft.isProvisional = true
        if let total = page.total.exactCount, total > count {
            draft.warnings.append("the origin counts \(total) items and shows \(count), and no way to the rest; name one with --paging")
        } else if count >= 10, count % 5 == 0 {
            draft.warnings.append("the answer looks like a full page of \(count) items, and shows no way to another; if there is more, name it with --paging")
        }
        return draft
    }

    /// The number of page one, where this parameter numbers pages: 0 or 1, or what the URL says it is.
    private func firstPageNumber(_ name: String, _ page: FetchedPage, _ draft: SourceLessonDraft) async -> Int? {
        if let said = url.value(of: name).flatMap({ Int($0) }) {
            let first = said == 0 ? 0 : 1
            return await isOther(name, String(first + 1), page, draft) ? first : nil
        }
        if await isOther(name, "1", page, draft) { return 0 }
        return await isOther(name, "2", page, draft) ? 1 : nil
    }

    /// Whether an answer with this parameter brings mostly other items than page one.
    private func isOther(_ name: String, _ value: String, _ page: FetchedPage, _ draft: SourceLessonDraft) async -> Bool {
        guard usage.requests < HTTPPageSource.detectionBudget else { return false }
        var probe = url
        probe.set(name, value)
        guard let response = try? await send(probe, []), response.status == 200,
            let answer = try? Answer(response, url: probe, limits: configuration.limits),
            let second = try? PageReader.page(from: answer, draft.description, isFirst: false, limits: configuration.limits),
            !second.content.isEmpty
        else { return false }
        let known = Set(page.content.identities.map { $0.key })
        let shared = second.content.identities.count { known.contains($0.key) }
        return shared * 2 < second.content.count
    }
}
