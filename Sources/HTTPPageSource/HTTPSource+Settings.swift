import PageModel
import Synchronization

// The caller's settings, confirmed by page one and by a second answer. A setting that neither confirms is refused:
// these functions throw `FetchFailure` with class `rejected` and a message of one line, and nothing is stored.
extension HTTPSource {
    /// Confirms the places that the caller names, if page one has items. A place of `next` that page one lacks passes
    /// only if page one can be the last page: the next run then looks for it again.
    func confirmPlaces(_ draft: inout DetectionDraft, _ size: Int?, _ contact: FirstContact) throws(FetchFailure) {
        let evidence = draft.evidence, answer = contact.answer
        guard evidence.count > 0 else { return }
        let items = draft.description.items
        if let id = configuration.id { try confirm(id, .id, below: items, answer.document) }
        if let key = configuration.key { try confirm(key, .key, below: items, answer.document) }
        if case .body(let pointer) = configuration.total {
            try confirmTotal(pointer, draft, answer.document)
        } else if let total = configuration.total, let number = answer.number(at: total), number < evidence.count {
            throw unconfirmed(.total, total, "it says \(number), and page one has \(evidence.count) items")
        }
        try confirmHeld(draft)
        let mayEnd = mayBeWhole(draft, size, contact)
        if let next = configuration.next, !isPresent(next, answer) {
            guard mayEnd else {
                throw unconfirmed(.next, next, "page one has no such member, although the list continues")
            }
            if !PagingChoice.isWhole(evidence) {
                draft.warnings.append(
                    "\(HTTPSourceConfiguration.Setting.next.assigned(next)) is not confirmed yet: page one has nothing there"
                )
            }
        }
        if let place = configuration.hasMore {
            let value = answer.document.value(at: place)
            let isStated = value.flatMap { answer.document.statement($0) } != nil
            guard isStated || value == nil && PagingChoice.isWhole(evidence) else {
                throw unconfirmed(.hasMore, place, "page one has no true or false there")
            }
        }
    }

    private func confirm(
        _ place: JSONPointer, _ setting: HTTPSourceConfiguration.Setting, below list: JSONPointer,
        _ document: JSONDocument
    ) throws(FetchFailure) {
        let items = document.value(at: list).map { document.entries(of: $0) } ?? []
        guard items.contains(where: { document.value(at: place, below: $0) != nil }) else {
            throw unconfirmed(setting, PagingProfile.named(place), "no item of page one has it")
        }
    }

    private func confirmTotal(
        _ place: JSONPointer, _ draft: DetectionDraft, _ document: JSONDocument
    ) throws(FetchFailure) {
        guard let value = document.value(at: place) else {
            throw unconfirmed(.total, place, "page one has nothing there")
        }
        guard let number = document.integer(value), number >= 0 else {
            if [.null, .number, .string].contains(document.kind(of: value)) { return }
            throw unconfirmed(.total, place, "page one has no number there")
        }
        if number < draft.evidence.count {
            throw unconfirmed(.total, place, "it says \(number), and page one has \(draft.evidence.count) items")
        }
        if number == draft.evidence.count, draft.evidence.goesOn {
            throw unconfirmed(.total, place, "it counts page one, and more items follow")
        }
    }

    /// Checks that the total at the place that the caller names is not smaller than the stored list.
    /// - Throws: `FetchFailure` when the total is smaller.
    private func confirmHeld(_ draft: DetectionDraft) throws(FetchFailure) {
        guard let total = configuration.total, let number = draft.evidence.total.exactCount,
            let held = state.withLock({ $0.contradicted != nil ? $0.heldEnd : nil }), number < held
        else { return }
        throw unconfirmed(.total, total, "it says \(number), and \(held) items are stored")
    }

    private func isPresent(_ place: HTTPSourceConfiguration.Place, _ answer: Answer) -> Bool {
        switch place {
        case .body(let pointer):
            pointer.linkArray.map { answer.document.value(at: $0) != nil }
                ?? (answer.document.value(at: pointer) != nil)
        case .header(let name):
            answer.response.header(String(name.prefix { $0 != "#" })) != nil
        }
    }

    /// Whether page one may be the whole list: nothing in it shows that items follow.
    private func mayBeWhole(_ draft: DetectionDraft, _ size: Int?, _ contact: FirstContact) -> Bool {
        if PagingChoice.isWhole(draft.evidence) { return true }
        guard !draft.evidence.goesOn else { return false }
        return OpenEnd.find(
            draft, sizes: statedSizes(draft, size, contact), most: nil, response: contact.answer.response,
            paging: .auto, method: configuration.method) == nil
    }

    /// Confirms the parameter for the page size by another size. An origin that ignores the name returns page one
    /// again.
    func confirmSize(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        let count = draft.evidence.count
        guard body == nil, let name = configuration.limitParameter, count > 1, !PagingChoice.isWhole(draft.evidence),
            contact.answer.url.value(of: name).flatMap({ Int($0) }) != count, remainingRequests(contact) > 0
        else { return }
        var url = contact.answer.url
        url.set(name, "\(max(count / 2, 1))")
        guard case .page(let answer) = try await sendProbe(url, contact),
            let content = try? PageReader(
                answer: answer, description: draft.description, base: url, isFirst: true, limits: configuration.limits
            ).content(), content.identities == contact.content.identities
        else { return }
        throw unconfirmed(.limitParameter, name, "the origin returns \(count) items for every size")
    }

    /// Tries the parameters that the caller names. The first that proves itself is used.
    /// - Throws: `FetchFailure` with class `rejected` when none proves itself and an answer contradicts one of them. An
    ///   answer that only shows no items after page one is not a contradiction (`isOpen`). If page one has changed, or
    ///   if a refused probe is answered when it is repeated, detection stops without an error.
    func proveSaid(
        _ candidates: [Candidate], _ draft: inout DetectionDraft, _ size: Int?, _ contact: inout FirstContact
    ) async throws {
        var objections: [(name: String, detail: String)] = []
        for candidate in candidates {
            switch try await evaluateLatest(candidate, &draft, &contact) {
            case .proved(let first):
                return PagingChoice.accept(candidate, first: first, &draft)
            case .failed(let detail):
                draft.explain("paging", name(of: candidate), .failed, detail)
                objections.append((setting(for: candidate), detail))
            case .interrupted(let detail):
                draft.explain("paging", name(of: candidate), .failed, detail)
                draft.description.style = .none
                return interrupt(&draft, detail)
            }
        }
        draft.description.style = .none
        draft.description.isProvisional = true
        let mayEnd = mayBeWhole(draft, size, contact)
        guard let objection = objections.first(where: { !isOpen($0.detail, mayEnd) }) else { return }
        if try await hasChanged(draft, contact) { return interrupt(&draft, HTTPSource.listChanged) }
        try await repeatRefusals(&draft, contact)
        guard draft.isInterrupted else { throw unconfirmed(objection.name, "it \(objection.detail)") }
    }

    /// Whether a parameter can still be right although its probe failed, because no items may follow page one.
    func isOpen(_ detail: String, _ mayEnd: Bool) -> Bool {
        if detail == ProbeFinding.lastItem.detail || detail == ProbeFinding.nothing.detail { return true }
        if detail.hasSuffix("404") || detail.hasSuffix("416") { return true }
        return mayEnd && (detail.hasPrefix("answered") || detail == ProbeFinding.unreadable)
    }

    /// Refuses a header for the total that neither page one nor HEAD has.
    func confirmHeader(_ draft: DetectionDraft, _ contact: FirstContact) throws(FetchFailure) {
        guard let place = configuration.total, case .header = place, draft.evidence.count > 0,
            draft.description.isTotalByHead != true, !draft.isInterrupted, draft.description.unansweredHeads == nil,
            contact.answer.text(at: place) == nil, !PagingChoice.isWhole(draft.evidence)
        else { return }
        throw unconfirmed(.total, place, "neither page one nor HEAD has a number there")
    }

    /// Refuses the first page number of the caller, unless detection has found page numbers that begin with it.
    func confirmFirstPage(_ draft: DetectionDraft) throws(FetchFailure) {
        guard let first = configuration.firstPage, !draft.isInterrupted, !PagingChoice.isWhole(draft.evidence) else {
            return
        }
        if draft.description.style == .page, draft.description.firstPage == first { return }
        throw unconfirmed(.firstPage, first, "no parameter returns page one for it")
    }

    /// The setting that names the parameter of a candidate, with its value.
    private func setting(for candidate: Candidate) -> String {
        let setting: HTTPSourceConfiguration.Setting =
            switch candidate {
            case .offset: .offsetParameter
            case .page: .pageParameter
            case .cursor, .keyset: .cursorParameter
            case .merge: .next
            }
        guard let name = candidate.parameter else { return setting.description }
        return (configuration.cursorIn == nil ? setting : .cursorIn).assigned(name)
    }

    private func unconfirmed(
        _ setting: HTTPSourceConfiguration.Setting, _ value: some CustomStringConvertible, _ reason: String
    ) -> FetchFailure {
        unconfirmed(setting.assigned(value), reason)
    }

    private func unconfirmed(_ setting: String, _ reason: String) -> FetchFailure {
        let known = state.withLock { $0.contradicted != nil } ? "; the list stays as it is" : ""
        return FetchFailure(.rejected, "\(setting) is not confirmed: \(reason)\(known)", isRetryable: false)
    }
}
