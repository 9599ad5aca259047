import PageModel
import PagedRepository
import Synchronization

// Next links that leave out parameters of page one: a filter, an order, an expansion.
extension HTTPSource {
    /// Decides whether the parameters that a next link leaves out have to be added to it again. One request adds the
    /// parameters, and the other uses the link as it is. When both answers hold the same items, the link is right,
    /// because its token implies the parameters. When the items differ, or the origin refuses the plain link, later
    /// links carry the parameters.
    func decideLinkParameters(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        guard !draft.isInterrupted, !draft.wantsQuiet,
            draft.description.style == .link || draft.description.style == .nextURL,
            let text = try? reader(draft, contact).next(behind: contact.content)?.text, let next = OriginURL(text),
            next.path == contact.answer.url.path
        else { return }
        let missing = contact.answer.url.parameters.filter { parameter in
            let name = parameter.plainName
            return next.value(of: name) == nil && !ParameterNames.isPaging(name) && !ParameterNames.limit.contains(name)
                && !configuration.pagingParameters.contains(name)
        }
        guard !missing.isEmpty, remainingRequests(contact) >= 2 else { return }
        var whole = next
        whole.parameters += missing
        let names = missing.map(\.plainName).joined(separator: ", ")
        guard case .items(let with) = try await requestLink(whole, draft, contact),
            ProbeFinding.following(contact.content.identities.map(\.key), with) == .proved
        else { return draft.explain("link", names, .failed, "with them the next link returns no following items") }
        switch try await requestLink(next, draft, contact) {
        case .items(let without) where without == with:
            draft.explain("link", names, .failed, "the next link returns the same items without them")
        case .unknown:
            draft.explain("link", names, .failed, "no answer")
        case .items, .refused:
            draft.description.carried = missing.map(\.plainName)
            draft.explain("link", names, .proved, "added to next links: without them the links return other items")
            draft.warnings.append("the next link leaves out \(names); added again")
        }
    }

    private enum LinkReply: Equatable {
        case items([UInt64])
        case refused, unknown
    }

    private func requestLink(_ url: OriginURL, _ draft: DetectionDraft, _ contact: FirstContact) async throws
        -> LinkReply
    {
        switch try await sendProbe(url, contact) {
        case .refused: return .refused
        case .silent, .spent: return .unknown
        case .page(let answer):
            // The walk of the chain that follows requests one of the two URLs.
            state.withLock { $0.ready.keep(answer.response, for: url, now: clock.now()) }
            let reader = PageReader(
                answer: answer, description: draft.description, base: contact.answer.url, isFirst: false,
                limits: configuration.limits)
            return (try? reader.content()).map { .items($0.identities.map(\.key)) } ?? .refused
        }
    }
}
