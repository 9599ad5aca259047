import PageModel
import PagedRepository
import Synchronization

// Probes for the candidate ways of paging. A candidate is kept only after an answer has proved it.
extension HTTPSource {
    enum ProbeReply {
        case page(Answer)
        /// The origin refuses the request, or the answer cannot be read.
        /// - status: the status of the answer. 0 stands for an answer that cannot be read.
        case refused(String, Int = 0)
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
            case 408, 425, 429, 502, 503, 504:
                guard try await isWaitedFor(response) else {
                    return .silent("answered \(response.status)")
                }
                return try await ask(url, contact)
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

    /// Stops all further probes on this first contact. The next run detects again.
    func interrupt(_ draft: inout DetectionDraft, _ detail: String) {
        draft.warnings.append("could not detect the next page (\(detail)); the next run tries again")
        draft.description.isProvisional = true
        draft.isInterrupted = true
    }

    /// Tries one candidate after the other, and takes the first one that is proved.
    func prove(_ candidates: [Candidate], _ draft: inout DetectionDraft, _ contact: inout FirstContact) async throws {
        guard !draft.isInterrupted else { return }
        for candidate in candidates {
            guard left(contact) > 0 else {
                draft.explain(
                    "paging", name(of: candidate), .failed,
                    "not tried: \(HTTPSource.detectionBudget) requests are the most")
                break
            }
            draft.namesNoPage = false
            var verdict = try await judgeLatest(candidate, &draft, &contact)
            // A single answer without items proves nothing (R20). The second one may have some.
            let isAskedTwice =
                (mayEnd(draft, contact) || takesToken(candidate, draft, contact)) && isEmpty(verdict, candidate)
                && left(contact) > 0
            if isAskedTwice {
                draft.namesNoPage = false
                verdict = try await judge(candidate, &draft, contact)
                if isEmpty(verdict, candidate), takesToken(candidate, draft, contact) { verdict = .proved(first: nil) }
            }
            switch verdict {
            case .proved(let first):
                return PagingChoice.accept(candidate, first: first, &draft)
            case .failed(let detail):
                draft.explain("paging", name(of: candidate), .failed, detail)
                if draft.sawOthers, !draft.isVolatile { draft.unexplained = draft.unexplained ?? name(of: candidate) }
                if isAskedTwice, isEmpty(verdict, candidate), draft.namesSamePage {
                    // The token leads to no item and back to itself. An answer without items that has no such token
                    // shows only that the parameter may be a wrong one.
                    draft.isProvenWhole = true
                    draft.warnings.removeAll { $0.hasSuffix(Detector.contradiction) }
                    return PagingChoice.giveUp(&draft)
                }
            case .interrupted(let detail):
                // An interrupted probe allows no conclusion. The next run detects again from its first answer.
                draft.explain("paging", name(of: candidate), .failed, detail)
                return interrupt(&draft, detail)
            }
        }
        PagingChoice.giveUp(&draft)
    }

    /// Whether the token of page one leads to an answer without items.
    private func isEmpty(_ verdict: ProbeVerdict, _ candidate: Candidate) -> Bool {
        guard case .cursor = candidate, case .failed(let detail) = verdict else { return false }
        return detail == ProbeFinding.nothing.detail
    }

    /// Whether an answer without items and without a token shows that a parameter took the token, and that the list ends
    /// with page one. The parameter has the name of the token, or the caller's URL has it. Nothing in page one shows
    /// that items follow, except the token.
    private func takesToken(_ candidate: Candidate, _ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        guard case .cursor(let name) = candidate, draft.namesNoPage, let token = evidence.token,
            evidence.hasMore != true, evidence.total.count ?? 0 <= evidence.count, evidence.remaining ?? 0 == 0,
            evidence.pageCount ?? 1 <= 1
        else { return false }
        return name == token.name || contact.answer.url.value(of: name) != nil
    }

    enum ProbeVerdict {
        /// - `first`: the number of page one, or of its first item, where the probe has found it out.
        case proved(first: Int?)
        case failed(String)
        case interrupted(String)
    }

    func judge(_ candidate: Candidate, _ draft: inout DetectionDraft, _ contact: FirstContact) async throws
        -> ProbeVerdict
    {
        var url = contact.answer.url
        let count = contact.content.count
        draft.sawOthers = false
        switch candidate {
        case .offset(let name, let first):
            return try await judgeOffset(name, first, &draft, contact)
        case .page(let name, let first):
            return try await judgePages(name, first ?? draft.evidence.pageNumber, &draft, contact)
        case .cursor, .merge:
            var trial = draft.description
            trial.style = .cursor
            trial.cursorParameter = candidate.parameter
            trial.isTokenWeak = draft.evidence.token?.isWeak == true ? true : nil
            let verdict = try await judgeToken(trial, &draft, contact)
            guard case .failed(let detail) = verdict, detail != ProbeFinding.pageOne.detail,
                draft.evidence.token?.isEscaped == true, left(contact) > 0
            else { return verdict }
            // The token may be meant for the URL as it is, with its escapes. An origin that ignores the parameter
            // returns page one for both.
            trial.isTokenEscaped = true
            let escaped = try await judgeToken(trial, &draft, contact)
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

    private func judgeToken(
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

    /// Requests the offset of page one's last item. An answer that begins with two or more items of page one has one of
    /// three reasons: the origin counts from 1, the list has grown meanwhile, or page one lacks items. An answer with
    /// most items of page one may also show that the origin ignores the parameter. A later offset must then have other
    /// items.
    private func judgeOffset(
        _ name: String, _ first: Int, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> ProbeVerdict {
        let count = contact.content.count
        var url = contact.answer.url
        url.set(name, String((count > 1 ? count - 1 : count) + first))
        var overlap = 0
        var second: Answer?
        let verdict = try await compare(url, &draft, contact, answer: &second) { one, two in
            overlap = ProbeFinding.overlap(one, two)
            return ProbeFinding.offset(one, two)
        }
        if case .failed(let detail) = verdict, mayNeedMultiples(name, detail, draft, contact) {
            draft.hasTriedMultiple = true
            url.set(name, String(count + first))
            let aligned = try await compare(url, &draft, contact) { ProbeFinding.following($0, $1) }
            if case .proved = aligned { draft.description.acceptMultiples(of: count) }
            return aligned
        }
        if case .failed(ProbeFinding.lastItem.detail) = verdict {
            if draft.evidence.hasMore == true || draft.evidence.total.exactCount ?? 0 > count {
                return .proved(first: nil)
            }
            // The following items may be hidden, or the origin limits an answer by its bytes. Then a later offset has
            // some.
            guard left(contact) > 0 else { return verdict }
            url.set(name, String(2 * count - 1 + first))
            let later = try await compare(url, &draft, contact) { one, two in
                two.isEmpty ? .nothing : two.contains { Set(one).contains($0) } ? .pageOne : .proved
            }
            guard case .failed(let detail) = later, isBehindEnd(detail) else { return later }
            // Only a position does both: the last item alone, and nothing a page later. The list ends with page one. A
            // total that both answers state counts the list.
            if draft.probedTotal == draft.evidence.total.exactCount { draft.evidence.isTotalWeak = false }
            return .proved(first: nil)
        }
        if case .proved = verdict, count == 1 { return try await isStill(verdict, &draft, contact) }
        guard case .proved = verdict, overlap > 1 else { return verdict }
        if !draft.sawOthers {
            guard left(contact) > 0 else { return .failed("not confirmed: no request is left") }
            guard try await isFarther(second, name, 2 * count - 1 + first, &draft, contact) else {
                return .failed(ProbeFinding.sameAgain)
            }
        }
        return first == 0 ? try await judgeFirst(name, &draft, contact) : verdict
    }

    /// Finds the position of the first item. Position 1 returns page one only where positions count from 1. A second
    /// request for page one then shows whether the list has changed meanwhile, so that the answer proves nothing.
    private func judgeFirst(_ name: String, _ draft: inout DetectionDraft, _ contact: FirstContact) async throws
        -> ProbeVerdict
    {
        // The request for page one only repeats an earlier one.
        _ = takesRepeat()
        var url = contact.answer.url
        url.set(name, "1")
        var first = 0
        for again in [url, contact.answer.url] {
            guard left(contact) > 0 else { return .failed("not tried whether it counts from 0 or from 1") }
            switch try await compare(again, &draft, contact, { $0 == $1 ? .pageOne : .somethingElse }) {
            case .failed(ProbeFinding.pageOne.detail):
                if again == url { first = 1 }
            case .interrupted(let detail): return .interrupted(detail)
            case .failed, .proved:
                if again == url { continue }
                // A list that changes with every request mostly counts from 0.
                let isBusy = draft.renewals > 0 && !ParameterNames.countedFromOne.contains(name)
                return isBusy ? .proved(first: 0) : .failed(ProbeFinding.changed)
            }
        }
        return .proved(first: first)
    }

    /// Whether the origin may have refused an offset because it is no multiple of the page size. The answer, the URL or
    /// the caller names the parameter, or it is the first one that was refused although the total counts more items.
    private func mayNeedMultiples(
        _ name: String, _ detail: String, _ draft: DetectionDraft, _ contact: FirstContact
    ) -> Bool {
        let isNamed =
            configuration.offsetParameter == name || contact.answer.url.value(of: name) != nil
            || draft.evidence.next?.value(of: name) != nil
            || configuration.paging == .offset
            || contact.answer.document.envelope().contains { $0.name == name && $0.kind == .number }
            || !draft.hasTriedMultiple && draft.evidence.exactTotal ?? 0 > contact.content.count
        return isNamed && contact.content.count > 1 && left(contact) > 0
            && ["answered 400", "answered 422"].contains(detail)
    }

    /// Finds the number of page one, and whether the parameter numbers pages at all. A page with other items is not
    /// enough, because some origins return other items at every call. The number of page one must return page one.
    private func judgePages(
        _ name: String, _ said: Int?, _ draft: inout DetectionDraft, _ contact: FirstContact
    ) async throws -> ProbeVerdict {
        var answer: Answer?
        func look(_ number: Int, _ draft: inout DetectionDraft) async throws -> ProbeVerdict {
            var url = contact.answer.url
            url.set(name, String(number))
            return try await compare(url, &draft, contact, answer: &answer) { ProbeFinding.following($0, $1) }
        }
        if let said = contact.answer.url.value(of: name).flatMap({ Int($0) }) ?? said {
            let first = said == 0 ? 0 : 1
            switch try await look(first + 1, &draft) {
            case .proved where endsWithSecond(draft, contact) && left(contact) > 0:
                // An origin may return its last page for every later number. The number of page one returns page one.
                switch try await look(first, &draft) {
                case .failed(ProbeFinding.pageOne.detail): return .proved(first: first)
                case .failed, .proved: return .failed("\(first) did not return page one")
                case .interrupted(let detail): return .interrupted(detail)
                }
            case .proved:
                return try await isSettled(answer, name, first + 2, &draft, contact)
                    ? .proved(first: first) : .failed("\(first + 2) returned the same items as \(first + 1)")
            case .failed(let detail):
                return isBehindEnd(detail) && isOwnPage(name, first, draft, contact)
                    ? .proved(first: first) : .failed(detail)
            case .interrupted(let detail): return .interrupted(detail)
            }
        }
        switch try await look(2, &draft) {
        case .proved:
            break
        // A list of two pages that are numbered from 0 has no page 2.
        case .failed(let detail)
        where detail == ProbeFinding.nothing.detail || detail.hasSuffix("404") || detail.hasSuffix("416"):
            break
        case let verdict:
            return verdict
        }
        switch try await look(1, &draft) {
        case .failed(let detail) where detail == ProbeFinding.pageOne.detail:
            return .proved(first: 1)
        case .proved:
            switch try await look(0, &draft) {
            case .failed(ProbeFinding.pageOne.detail): return .proved(first: 0)
            case .failed, .proved: return .failed("no page number returns page one")
            case .interrupted(let detail): return .interrupted(detail)
            }
        case let verdict:
            return verdict
        }
    }

    /// Whether a probe has shown that no item follows.
    private func isBehindEnd(_ detail: String) -> Bool {
        detail == ProbeFinding.nothing.detail || detail == "answered 404" || detail == "answered 416"
    }

    /// Whether the caller's URL has the number of page one, and nothing in page one shows that items follow. An answer
    /// without items to the next number then shows that the list ends.
    private func isOwnPage(_ name: String, _ first: Int, _ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        return contact.answer.url.value(of: name) == "\(first)" && !evidence.goesOn && evidence.part == nil
            && evidence.total.count ?? 0 <= evidence.count
    }

    /// Whether page one states that the list has two pages.
    private func endsWithSecond(_ draft: DetectionDraft, _ contact: FirstContact) -> Bool {
        let evidence = draft.evidence
        return evidence.pageCount.map { $0 == 2 }
            ?? evidence.exactTotal.map { $0 <= 2 * contact.content.count } ?? false
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
