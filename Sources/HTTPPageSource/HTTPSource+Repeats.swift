import PageModel
import PagedRepository
import Synchronization

// Requests of a first contact that are repeated, because the origin failed for a moment or its list changed meanwhile.
extension HTTPSource {
    /// Uses one of the repeats that do not count against the budget. Returns false when none is left.
    func consumeRepeat() -> Bool {
        state.withLock { state in
            guard state.repeats < HTTPSource.mostRepeats else { return false }
            state.repeats += 1
            return true
        }
    }

    /// Requests `url`, and requests it once more when the failure can be temporary:
    /// - The origin did not answer, or answered 408, 425 or a server error. A 429 is not repeated.
    /// - The items of the answer cannot be read.
    /// - The answer is the first 404 of this first contact, and page one shows that more items follow.
    /// - The origin refused a parameter that has returned other items before.
    func sendProbeWithRepeat(_ url: OriginURL, _ draft: inout DetectionDraft, _ contact: FirstContact) async throws
        -> ProbeReply
    {
        let reply = try await sendProbe(url, contact)
        let isFault: Bool
        var isMiss = false
        switch reply {
        case .silent(let detail):
            isFault = !detail.hasSuffix("429")
        case .refused(_, let status):
            let showsMore = draft.evidence.goesOn || draft.evidence.total.count ?? 0 > draft.evidence.count
            let isFirstMiss = status == 404 && showsMore && !state.withLock { $0.hasAskedTwice }
            isFault = status == 0 || status >= 500 || isFirstMiss || draft.sawOthers
            // 400, 416 and 422 say that the request is wrong. Any other refusal may be a fault.
            isMiss = (401..<500).contains(status) && status != 416 && status != 422
            if isMiss { draft.misses.append(url) }
            if status == 404 { state.withLock { $0.hasAskedTwice = true } }
        case .page(let answer):
            let reader = PageReader(
                answer: answer, description: draft.description, base: contact.answer.url, isFirst: true,
                limits: configuration.limits,
                // An answer that states the total, and lacks only the items, is a page after the end.
                mayLackItems: draft.description.total.map { answer.number(at: $0) != nil } ?? false)
            isFault = (try? reader.content()) == nil
        case .spent:
            isFault = false
        }
        guard isFault else { return reply }
        draft.hadTrouble = draft.hadTrouble || !isMiss || draft.sawOthers
        guard consumeRepeat() || remainingRequests(contact) > 0 else { return reply }
        return try await sendProbe(url, contact)
    }

    /// Repeats the refused probes (`DetectionDraft.misses`), while requests are left. Stops detection if a probe is not
    /// refused again: its first refusal was a fault, so page one may be a part of the list. A repeated refusal is not a
    /// fault, unless the origin has refused every candidate, as it may do during a longer fault.
    func repeatRefusals(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        for url in draft.misses {
            guard consumeRepeat() || remainingRequests(contact) > 0 else { break }
            switch try await sendProbe(url, contact) {
            case .page: return interrupt(&draft, "a refused request was answered when it was repeated")
            case .silent(let detail): return interrupt(&draft, detail)
            case .refused, .spent: continue
            }
        }
        let details = (draft.description.reasons ?? []).filter { $0.field == "paging" && $0.reason == .failed }
            .compactMap(\.detail)
        if details.contains(where: { !$0.hasPrefix("answered") && !$0.hasPrefix("not tried") }) { draft.misses = [] }
    }

    /// Waits for the pause that `Retry-After` requests, and then returns true. Returns false without a pause if that
    /// header is missing, if the pauses of this first contact would exceed five seconds, or if no repeat is left.
    func isWaitedFor(_ response: HTTPPageResponse) async throws -> Bool {
        let now = clock.now()
        guard let pause = response.values("Retry-After").first.flatMap({ RetryAfter.pause($0, now: now) }),
            state.withLock({ state in
                guard pause <= state.retryWaitLeft, state.repeats < HTTPSource.mostRepeats else { return false }
                state.retryWaitLeft -= pause
                state.repeats += 1
                return true
            })
        else { return false }
        try await clock.sleep(until: now + pause)
        return true
    }

    /// Evaluates a candidate. Evaluates it again when an answer had other items than the expected ones, and page one
    /// has changed meanwhile. The first contact then continues with the present page one.
    func evaluateLatest(_ candidate: Candidate, _ draft: inout DetectionDraft, _ contact: inout FirstContact)
        async throws
        -> ProbeVerdict
    {
        let verdict = try await evaluate(candidate, &draft, contact)
        guard case .failed(let detail) = verdict, draft.sawOthers || detail == ProbeFinding.changed,
            try await renew(&draft, &contact), remainingRequests(contact) > 0
        else { return verdict }
        return try await evaluate(candidate, &draft, contact)
    }

    /// The reported reason when detection stops because page one has changed.
    static let listChanged = "the list changed meanwhile"

    /// Whether page one has other items now than those that the answers to probes were compared with. A failed
    /// comparison is then no reason to refuse a setting. Returns false when page one cannot be requested or read again.
    func hasChanged(_ draft: DetectionDraft, _ contact: FirstContact) async throws -> Bool {
        guard consumeRepeat() || remainingRequests(contact) > 0,
            case .page(let answer) = try await sendProbe(contact.answer.url, contact),
            let content = try? PageReader(
                answer: answer, description: draft.description, base: answer.url, isFirst: true,
                limits: configuration.limits
            ).content()
        else { return false }
        return content.identities.map(\.key) != contact.content.identities.map(\.key)
    }

    /// Requests page one again, at most twice on a first contact. Returns whether page one has changed. The draft then
    /// has the evidence of the new page one, and the contact has its answer.
    private func renew(_ draft: inout DetectionDraft, _ contact: inout FirstContact) async throws -> Bool {
        guard draft.renewals < 2, !draft.isVolatile, consumeRepeat() || remainingRequests(contact) > 0 else {
            return false
        }
        draft.renewals += 1
        guard case .page(let answer) = try await sendProbe(contact.answer.url, contact),
            let latest = try? Detector.describe(answer, configuration),
            let content = try? PageReader(
                answer: answer, description: draft.description, base: answer.url, isFirst: true,
                limits: configuration.limits
            ).content(), !content.isEmpty, content.identities != contact.content.identities
        else { return false }
        draft.isVolatile =
            ProbeFinding.following(contact.content.identities.map(\.key), content.identities.map(\.key)) == .proved
        draft.evidence = latest.evidence
        draft.evidence.hints.insert(contentsOf: places, at: 0)
        draft.hasTriedMultiple = false
        draft.changes += 1
        contact.answer = answer
        contact.content = content
        // The answers that were kept belong to the earlier page one.
        state.withLock { $0.ready = ReadyAnswers() }
        return true
    }
}
