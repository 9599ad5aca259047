import PageModel

// One request for many candidates. If a total probably counts the list, the origin probably ignores all of them.
extension HTTPSource {
    /// Tries the remaining candidates in one request, with further usual names (`CandidateOrder.further`). If the
    /// answer is page one again, the origin ignores each of these parameters. After any other answer the candidates are
    /// tried one by one.
    /// - Returns: the candidates that are still to be tried.
    func refuteTogether(
        _ queue: ArraySlice<Candidate>, after rejected: [Candidate], _ draft: inout DetectionDraft,
        _ contact: FirstContact
    ) async throws -> ArraySlice<Candidate> {
        var url = contact.answer.url
        var names = Set(rejected.compactMap(\.parameter)), sent: [String] = []
        let further = CandidateOrder.further.filter { candidate in
            isAllowed(candidate) && candidate.parameter.map { url.value(of: $0) == nil } ?? false
        }
        for candidate in queue + further {
            guard let name = candidate.parameter, let text = value(of: candidate, draft, contact),
                names.insert(name).inserted
            else { continue }
            url.set(name, text)
            sent.append(name)
        }
        guard !sent.isEmpty, remainingRequests(contact) > 0,
            case .page(let answer) = try await sendProbe(url, contact),
            let content = try? PageReader(
                answer: answer, description: draft.description, base: contact.answer.url, isFirst: false,
                limits: configuration.limits
            ).content()
        else { return queue }
        let together = "\(sent.joined(separator: ", ")) together"
        let (one, two) = (contact.content.identities.map(\.key), content.identities.map(\.key))
        if one == two {
            draft.explain("paging", together, .failed, ProbeFinding.pageOne.detail)
            return queue.filter { value(of: $0, draft, contact) == nil }[...]
        }
        // Items that page one lacks show that it is a part, whichever parameter returned them.
        let known = Set(one)
        if two.contains(where: { !known.contains($0) }), !draft.isVolatile {
            draft.unexplained = draft.unexplained ?? together
        }
        return queue
    }

    /// Returns a value of the candidate's parameter for which only an origin that ignores the parameter returns page
    /// one. An offset leads to the third item. The same number is the second or third page if the parameter counts
    /// pages, and the second item if it counts positions from 1. Returns nil for a token, and for a keyset if the last
    /// item has no key.
    private func value(of candidate: Candidate, _ draft: DetectionDraft, _ contact: FirstContact) -> String? {
        switch candidate {
        case .offset(_, let first):
            return String(2 + first)
        case .page(let name, let first):
            let number = contact.answer.url.value(of: name).flatMap { Int($0) } ?? first ?? draft.evidence.pageNumber
            return number == 0 ? "1" : "2"
        case .keyset(_, let key):
            var trial = draft.description
            trial.style = .keyset
            trial.key = key
            let reader = PageReader(
                answer: contact.answer, description: trial, base: contact.answer.url, isFirst: true,
                limits: configuration.limits)
            return reader.key(ofItemAt: contact.content.count - 1)
        case .cursor, .merge:
            return nil
        }
    }
}
