import PageModel
import Synchronization

// A known chain whose page one no longer names the next page.
extension HTTPSource {
    /// Whether page one of a known chain does not name the next page, although the answer or the second page shows more
    /// items (R24). The origin is then examined again.
    ///
    /// The answer shows more items by another way to the next page, by a statement, or by a total of at least twice its
    /// items. If page one is full and the held list is longer, any larger total shows more items, too. Without such a
    /// total, the second page decides (`hasSecondPage`). A member that is present without a value ends the chain.
    func hasLostNext(_ answer: Answer, _ known: PagingProfile?) async throws -> Bool {
        guard let known, known.isProvisional != true, known.isChain, known.style != .keyset, let place = known.next,
            isMissing(place, answer), let evidence = try? describe(answer, nil).evidence,
            evidence.count > 0, evidence.hasMore != false
        else { return false }
        if evidence.goesOn || evidence.total.count ?? 0 >= 2 * evidence.count { return true }
        let asked = ParameterNames.size(in: answer.url).flatMap { answer.url.value(of: $0) }
        let isFull =
            evidence.looksFull || OpenEnd.usualSizes.contains(evidence.count) || asked == "\(evidence.count)"
        guard isFull, state.withLock({ $0.heldEnd ?? 0 }) > evidence.count else { return false }
        if evidence.total.count ?? 0 > evidence.count { return true }
        return try await hasSecondPage(behind: evidence.count, answer, known)
    }

    /// Whether an answer lacks the place of the next page. A `Link` header without a next link counts as missing, too:
    /// many origins send their other links with every page.
    private func isMissing(_ place: HTTPSourceConfiguration.Place, _ answer: Answer) -> Bool {
        switch place {
        case .body(let pointer): answer.document.value(at: pointer) == nil
        // In a JSON header, a member may be present without a value, as in a body.
        case .header(let name): name.contains(Answer.headerMark) ? false : answer.text(at: place) == nil
        }
    }

    /// Returns whether the second page may have items. Requests the second page by the offset or the page number of
    /// this list's earlier next links. If that page is empty or refused, the list has one page, and its page one needs
    /// no next link. Without such a number nothing is requested. A list with its next link in a header then has one
    /// page if that header is present, and any other list may have a second page.
    private func hasSecondPage(behind count: Int, _ answer: Answer, _ known: PagingProfile) async throws -> Bool {
        var second = answer.url
        if known.style != .cursor, let name = known.offsetParameter {
            second.set(name, String(count + (known.firstOffset ?? 0)))
        } else if known.style != .cursor, let name = known.pageParameter {
            second.set(name, String((known.firstPage ?? 1) + 1))
        } else if case .header(let name) = known.next {
            return answer.response.header(name) == nil
        } else {
            return true
        }
        do {
            let response = try await send(second, [])
            // Origins refuse a position after the end with these statuses (R24).
            guard response.status == 200 else { return ![400, 404, 416].contains(response.status) }
            let page = try Answer(
                response, url: second, secrets: secrets, policy: policy, limits: configuration.limits)
            let reader = PageReader(
                answer: page, description: known, base: url, isFirst: false, limits: configuration.limits,
                mayLackItems: true)
            let content = try reader.content()
            let next = try reader.next(behind: content)
            return !content.isEmpty || next != nil
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return true
        }
    }
}
