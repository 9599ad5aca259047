import PageModel
import PagedRepository

// Items beside an empty list that is as plausible: `{"accounts":[{…}],"added":[]}`.
extension HTTPSource {
    /// Refuses items beside an empty list, unless an answer shows that they are paged: a probe has proved a parameter,
    /// or the next link leads to other items at their place.
    /// - Throws: `FetchFailure` with class `undecodable`. The message names the places of both lists.
    func confirmItems(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        guard let rival = draft.evidence.emptyRival else { return }
        switch draft.description.style {
        case .offset, .page, .cursor, .keyset:
            return
        case .link, .nextURL:
            if let next = try reader(draft, contact).next(behind: contact.content).flatMap({ OriginURL($0.text) }),
                case .proved = try await compare(next, &draft, contact, { ProbeFinding.following($0, $1) })
            {
                return
            }
        case .none:
            break
        }
        throw Detector.twoLists(draft.description.items, rival, in: contact.answer)
    }
}
