import PageModel
import PagedRepository
import Synchronization

// Probes for the candidate ways of paging. A candidate is kept only after an answer has proved it.
extension HTTPSource {
    enum ProbeReply {
        case page(Answer)
        /// The origin refuses the request, or the request fails permanently, for example because the answer cannot be
        /// read.
        /// - status: the status of the answer. 0 stands for a permanent failure.
        case refused(String, Int = 0)
        /// A temporary fault of the origin or the network, which proves nothing.
        case silent(String)
        /// No request is left.
        case spent
    }

    func sendProbe(_ url: OriginURL, _ contact: FirstContact) async throws -> ProbeReply {
        let most = remainingRequests(contact)
        guard most > 0 else { return .spent }
        do {
            let response = try await send(url, [], most: most)
            switch response.status {
            case 200, 203, 206:
                return .page(
                    try Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits))
            case 408, 425, 429, 502, 503, 504:
                guard try await isWaitedFor(response) else {
                    return .silent("answered \(response.status)")
                }
                return try await sendProbe(url, contact)
            // Some origins fail with a server error on unknown parameters.
            case _: return .refused("answered \(response.status)", response.status)
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            let failure = error as? FetchFailure
            if failure?.failureClass == .undecodable { state.withLock { $0.unreadable = failure?.message } }
            return failure?.isRetryable == false
                ? .refused(failure?.message ?? "no answer") : .silent(failure?.message ?? "no answer")
        }
    }

    /// Stops all further probes of this first contact. The next run detects again.
    func interrupt(_ draft: inout DetectionDraft, _ detail: String) {
        draft.warnings.append("could not detect the next page (\(detail)); the next run tries again")
        draft.description.isProvisional = true
        draft.isInterrupted = true
    }

    /// Tries one candidate after the other, and takes the first one that is proved. If page one has changed meanwhile,
    /// the rejected candidates are tried again.
    func prove(_ candidates: [Candidate], _ draft: inout DetectionDraft, _ contact: inout FirstContact) async throws {
        guard !draft.isInterrupted else { return }
        var queue = candidates[...], rejected: [Candidate] = [], hasTriedTogether = false
        while let candidate = queue.popFirst() {
            let changes = draft.changes
            guard remainingRequests(contact) > 0 else {
                draft.explain(
                    "paging", name(of: candidate), .failed,
                    "not tried: the limit of \(HTTPSource.detectionBudget) requests is reached")
                break
            }
            draft.namesNoPage = false
            var verdict = try await evaluateLatest(candidate, &draft, &contact)
            // A single answer without items proves nothing (R20). A second answer may have some.
            let mayBeLast = mayEnd(draft, contact) || acceptsToken(candidate, draft, contact)
            let isAskedTwice =
                isEmpty(verdict, candidate) && (mayBeLast || !showsNoMore(draft))
                && (!mayBeLast && consumeRepeat() || remainingRequests(contact) > 0)
            if isAskedTwice {
                draft.namesNoPage = false
                verdict = try await evaluate(candidate, &draft, contact)
                if isEmpty(verdict, candidate), acceptsToken(candidate, draft, contact) {
                    verdict = .proved(first: nil)
                }
                draft.hadTrouble = draft.hadTrouble || !mayBeLast
            }
            switch verdict {
            case .proved(let first):
                return PagingChoice.accept(candidate, first: first, &draft)
            case .failed(let detail):
                draft.explain("paging", name(of: candidate), .failed, detail)
                if draft.changes > changes {
                    queue = rejected[...] + queue
                    rejected = []
                }
                rejected.append(candidate)
                if draft.evidence.isTotalLikely, configuration.paging == .auto, body == nil, !hasTriedTogether,
                    detail == ProbeFinding.pageOne.detail
                {
                    hasTriedTogether = true
                    queue = try await refuteTogether(queue, after: rejected, &draft, contact)
                }
                if draft.sawOthers, !draft.isVolatile { draft.unexplained = draft.unexplained ?? name(of: candidate) }
                if isAskedTwice, mayBeLast, isEmpty(verdict, candidate), draft.namesSamePage {
                    // The token leads to no item and back to itself. An answer without items that has no such token
                    // shows only that the parameter may be wrong.
                    draft.isProvenWhole = true
                    draft.warnings.removeAll { $0.hasSuffix(Detector.contradiction) }
                    return PagingChoice.acceptPageOneOnly(&draft)
                }
            case .interrupted(let detail):
                // An interrupted probe allows no conclusion. The next run detects again from its first answer.
                draft.explain("paging", name(of: candidate), .failed, detail)
                return interrupt(&draft, detail)
            }
        }
        PagingChoice.acceptPageOneOnly(&draft)
    }

    /// Whether the token of page one leads to an answer without items.
    private func isEmpty(_ verdict: ProbeVerdict, _ candidate: Candidate) -> Bool {
        guard case .cursor = candidate, case .failed(let detail) = verdict else { return false }
        return detail == ProbeFinding.nothing.detail
    }

    /// Returns whether an answer without items and without a token proves that the parameter accepts the token, and
    /// that the list ends with page one. The parameter must have the name of the token, or be in the caller's URL.
    /// Apart from the token, nothing in page one may show that items follow.
    private func acceptsToken(_ candidate: Candidate, _ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        guard case .cursor(let name) = candidate, draft.namesNoPage, let token = evidence.token,
            evidence.hasMore != true, evidence.total.count ?? 0 <= evidence.count, evidence.remaining ?? 0 == 0,
            evidence.pageCount ?? 1 <= 1
        else { return false }
        return name == token.name || contact.answer.url.value(of: name) != nil
    }

    enum ProbeVerdict {
        /// - `first`: the number of page one, or of its first item. `nil` if the probe has not found it out.
        case proved(first: Int?)
        case failed(String)
        case interrupted(String)
    }

    func evaluate(_ candidate: Candidate, _ draft: inout DetectionDraft, _ contact: FirstContact) async throws
        -> ProbeVerdict
    {
        var url = contact.answer.url
        let count = contact.content.count
        draft.sawOthers = false
        draft.emptyTotal = nil
        switch candidate {
        case .offset(let name, let first):
            return try await evaluateOffset(name, first, &draft, contact)
        case .page(let name, let first):
            return try await evaluatePages(name, first ?? draft.evidence.pageNumber, &draft, contact)
        case .cursor, .merge:
            var trial = draft.description
            trial.style = .cursor
            trial.cursorParameter = candidate.parameter
            trial.isTokenWeak = draft.evidence.token?.isWeak == true ? true : nil
            let verdict = try await evaluateToken(trial, &draft, contact)
            guard case .failed(let detail) = verdict, detail != ProbeFinding.pageOne.detail,
                draft.evidence.token?.isEscaped == true, remainingRequests(contact) > 0
            else { return verdict }
            // The token may be meant for the URL as it is, with its escapes. An origin that ignores the parameter
            // returns page one for both.
            trial.isTokenEscaped = true
            let escaped = try await evaluateToken(trial, &draft, contact)
            if case .proved = escaped { draft.description.isTokenEscaped = true }
            return escaped
        case .keyset(let name, let key):
            var trial = draft.description
            trial.style = .keyset
            trial.cursorParameter = name
            trial.key = key
            let reader = PageReader(
                answer: contact.answer, description: trial, base: url, isFirst: true, limits: configuration.limits)
            guard let last = reader.key(ofItemAt: count - 1) else { return .failed("the last item has no key") }
            url.set(name, last)
            var second: Answer?
            let verdict = try await compare(url, &draft, contact, answer: &second) { ProbeFinding.following($0, $1) }
            return try await confirmed(verdict, second, trial, &draft, contact)
        }
    }

    private func evaluateToken(
        _ trial: PagingProfile, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> ProbeVerdict {
        let reader = PageReader(
            answer: contact.answer, description: trial, base: contact.answer.url, isFirst: true,
            limits: configuration.limits)
        guard let next = try reader.next(behind: contact.content).flatMap({ OriginURL($0.text) }) else {
            return .failed("no token")
        }
        var second: Answer?
        let verdict = try await compare(next, &draft, contact, reading: trial, from: next, answer: &second) {
            ProbeFinding.following($0, $1)
        }
        return try await confirmed(verdict, second, trial, &draft, contact)
    }

    func name(of candidate: Candidate) -> String {
        switch candidate {
        case .offset(let name, _): "\(name) as an offset"
        case .page(let name, _): "\(name) as a page number"
        case .cursor(let name): "\(name) for the token"
        case .merge: "the object's members"
        case .keyset(let name, let key): "\(name) for the last item's \(PagingProfile.named(key))"
        }
    }
}
