import PageModel
import PagedRepository

// Probes for the candidate ways of paging. A candidate is kept only after an answer has proved it.
extension HTTPPageSource {
    enum ProbeReply {
        case page(Answer)
        /// The origin refuses the request, or the answer cannot be read.
        case refused(String)
        /// The origin is in trouble, so its answer proves nothing.
        case silent(String)
        /// No requests are left.
        case spent
    }

    func ask(_ url: OriginURL, _ contact: FirstContact) async throws -> ProbeReply {
        let most = left(contact)
        guard most > 0 else { return .spent }
        do {
            let response = try await send(url, [], most: most)
            switch response.status {
            case 200, 203, 206:
                return .page(
                    try Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits))
            case 408, 425, 429, 502, 503, 504: return .silent("answered \(response.status)")
            // Some origins fail with a server error on unknown parameters.
            case _: return .refused("answered \(response.status)")
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            let failure = error as? FetchFailure
            return failure?.isRetryable == false
                ? .refused(failure?.message ?? "no answer") : .silent(failure?.message ?? "no answer")
        }
    }

    /// Stops all further probes on this first contact. The next run detects again.
    func interrupt(_ draft: inout DetectionDraft, _ detail: String) {
        draft.warnings.append("how the list goes on could not be found out now (\(detail)); the next run looks again")
        draft.description.isProvisional = true
        draft.isInterrupted = true
    }

    /// Tries one candidate after the other, and takes the first one that is proved.
    func prove(_ candidates: [Candidate], _ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        guard !draft.isInterrupted else { return }
        for candidate in candidates {
            guard left(contact) > 0 else {
                draft.explain(
                    "paging", name(of: candidate), .failed,
                    "not tried: \(HTTPPageSource.detectionBudget) requests are the most")
                break
            }
            switch try await judge(candidate, draft, contact) {
            case .proved(let first):
                return PagingChoice.accept(candidate, first: first, &draft)
            case .failed(let detail):
                draft.explain("paging", name(of: candidate), .failed, detail)
            case .interrupted(let detail):
                // An interrupted probe allows no conclusion. The next run detects again from its first answer.
                draft.explain("paging", name(of: candidate), .failed, detail)
                return interrupt(&draft, detail)
            }
        }
        if !candidates.isEmpty { PagingChoice.giveUp(&draft, configuration) }
    }

    private enum Verdict {
        /// - `first`: the number of page one, or of its first item, where the probe has found it out.
        case proved(first: Int?)
        case failed(String)
        case interrupted(String)
    }

    private func judge(_ candidate: Candidate, _ draft: DetectionDraft, _ contact: FirstContact) async throws -> Verdict
    {
        var url = contact.answer.url
        let count = contact.content.count
        switch candidate {
        case .offset(let name, let first):
            return try await judgeOffset(name, first, draft, contact)
        case .page(let name, let first):
            return try await judgePages(name, first ?? draft.evidence.pageNumber, draft, contact)
        case .cursor, .merge:
            var trial = draft.description
            trial.style = .cursor
            trial.cursorParameter = candidate.parameter
            let reader = PageReader(
                answer: contact.answer, description: trial, base: url, isFirst: true, limits: configuration.limits)
            guard let next = try reader.next(behind: contact.content).flatMap({ OriginURL($0.text) }) else {
                return .failed("no token")
            }
            return try await compare(next, draft, contact, reading: trial, from: next) {
                ProbeFinding.following($0, $1)
            }
        case .keyset(let name, let key):
            var trial = draft.description
            trial.key = key
            let reader = PageReader(
                answer: contact.answer, description: trial, base: url, isFirst: true, limits: configuration.limits)
            guard let last = reader.key(ofItemAt: count - 1) else { return .failed("the last item has no key") }
            url.set(name, last)
            return try await compare(url, draft, contact) { ProbeFinding.following($0, $1) }
        }
    }

    /// Requests the offset of page one's last item. An origin that counts from 1 returns one more item of page one. A
    /// list that has grown by one item meanwhile gives the same answer, and so does a page one that lacks an item. A
    /// second request for page one tells the first two apart, and one for offset 1 the third: only an origin that counts
    /// from 1 answers it with page one.
    private func judgeOffset(
        _ name: String, _ first: Int, _ draft: DetectionDraft, _ contact: FirstContact
    ) async throws -> Verdict {
        let count = contact.content.count
        var url = contact.answer.url
        url.set(name, String((count > 1 ? count - 1 : count) + first))
        var overlap = 0
        let verdict = try await compare(url, draft, contact) { one, two in
            overlap = ProbeFinding.overlap(one, two)
            return ProbeFinding.offset(one, two)
        }
        if case .failed(ProbeFinding.lastItem.detail) = verdict {
            if draft.evidence.hasMore == true || draft.evidence.total.exactCount ?? 0 > count {
                return .proved(first: nil)
            }
            // The items behind may be hidden, or the origin limits an answer by its bytes. Then a later offset has some.
            guard left(contact) > 0 else { return verdict }
            url.set(name, String(2 * count - 1 + first))
            return try await compare(url, draft, contact) { one, two in
                two.isEmpty ? .nothing : two.contains { Set(one).contains($0) } ? .pageOne : .proved
            }
        }
        guard case .proved = verdict, first == 0, overlap == 2 else { return verdict }
        url.set(name, "1")
        for again in [contact.answer.url, url] {
            guard left(contact) > 0 else { return .failed("not tried whether it counts from 0 or from 1") }
            switch try await compare(again, draft, contact, { $0 == $1 ? .pageOne : .somethingElse }) {
            case .failed(ProbeFinding.pageOne.detail): continue
            case .failed, .proved: return .proved(first: 0)
            case .interrupted(let detail): return .interrupted(detail)
            }
        }
        return .proved(first: 1)
    }

    /// Finds the number of page one, and whether the parameter numbers pages at all. A page with other items is not
    /// enough, because some origins return other items at every call. The number of page one must return page one.
    private func judgePages(
        _ name: String, _ said: Int?, _ draft: DetectionDraft, _ contact: FirstContact
    ) async throws -> Verdict {
        func look(_ number: Int) async throws -> Verdict {
            var url = contact.answer.url
            url.set(name, String(number))
            return try await compare(url, draft, contact) { ProbeFinding.following($0, $1) }
        }
        if let said = contact.answer.url.value(of: name).flatMap({ Int($0) }) ?? said {
            let first = said == 0 ? 0 : 1
            switch try await look(first + 1) {
            case .proved: return .proved(first: first)
            case .failed: return .failed("\(first + 1) brought no other page")
            case .interrupted(let detail): return .interrupted(detail)
            }
        }
        switch try await look(2) {
        case .proved:
            break
        // A list of two pages that are numbered from 0 has no page 2.
        case .failed(let detail)
        where detail == ProbeFinding.nothing.detail || detail.hasSuffix("404") || detail.hasSuffix("416"):
            break
        case let verdict:
            return verdict
        }
        switch try await look(1) {
        case .failed(let detail) where detail == ProbeFinding.pageOne.detail:
            return .proved(first: 1)
        case .proved:
            switch try await look(0) {
            case .failed(ProbeFinding.pageOne.detail): return .proved(first: 0)
            case .failed, .proved: return .failed("no number brings page one")
            case .interrupted(let detail): return .interrupted(detail)
            }
        case let verdict:
            return verdict
        }
    }

    /// Requests `url`, and compares the answer with page one.
    /// - Parameters:
    ///   - trial: how to read the next page from the answer. An answer without items that leads to another page than
    ///     `url` proves a cursor, too: its items are hidden (R53). Defaults to nil: such an answer proves nothing.
    ///   - next: the page that was requested.
    private func compare(
        _ url: OriginURL, _ draft: DetectionDraft, _ contact: FirstContact, reading trial: SourceDescription? = nil,
        from next: OriginURL? = nil, _ find: ([UInt64], [UInt64]) -> ProbeFinding
    ) async throws -> Verdict {
        switch try await ask(url, contact) {
        case .spent: return .failed("not tried")
        case .refused(let detail): return .failed(detail)
        case .silent(let detail): return .interrupted(detail)
        case .page(let answer):
            let reader = PageReader(
                answer: answer, description: draft.description, base: contact.answer.url, isFirst: false,
                limits: configuration.limits)
            guard let content = try? reader.content() else { return .failed("brought no items") }
            let finding = find(contact.content.identities.map(\.key), content.identities.map(\.key))
            if finding == .nothing, let trial, try leads(answer, on: trial, from: next, contact) {
                return .proved(first: nil)
            }
            guard finding == .proved else { return .failed(finding.detail) }
            let total = PageReader.total(of: answer, draft.description).total
            return ProbeFinding.isFiltered(draft.evidence.total, total)
                ? .failed("brought another list, of \(total.count ?? 0) items")
                : .proved(first: nil)
        }
    }

    /// Whether an answer without items names a further page, other than the requested one and page one.
    private func leads(
        _ answer: Answer, on trial: SourceDescription, from url: OriginURL?, _ contact: FirstContact
    ) throws -> Bool {
        let reader = PageReader(
            answer: answer, description: trial, base: contact.answer.url, isFirst: false, limits: configuration.limits)
        guard let next = try reader.next(behind: PageContent()).flatMap({ OriginURL($0.text) }) else { return false }
        return next != url && next != contact.answer.url
    }

    private func name(of candidate: Candidate) -> String {
        switch candidate {
        case .offset(let name, _): "\(name) as an offset"
        case .page(let name, _): "\(name) as a page number"
        case .cursor(let name): "\(name) for the token"
        case .merge: "the object's members"
        case .keyset(let name, let key): "\(name) for the last item's \(SourceDescription.named(key))"
        }
    }
}
