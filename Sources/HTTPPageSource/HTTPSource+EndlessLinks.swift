import PageModel
import PagedRepository
import Synchronization

// Numbered next links that never end: each answer behind the last item has one, with the next number.
extension HTTPSource {
    /// A position or a page number that is behind the end of the list.
    private static let farNumber = 1_000_000
    /// The number of successive pages without items from which on a link may be endless.
    private static let mostEmptyPages = 6

    /// Removes the next link of a page without items, if the origin has a next link everywhere. The link differs from
    /// the URL of the page only in a larger position or page number, and no total counts the list (R24).
    ///
    /// A page in the middle can lack all of its items (R53), so that several pages without items have to follow each other.
    /// Then one request with the number 1,000,000 decides, once for each source. An origin that names a next page even
    /// there names one in every answer, so the link is removed. Otherwise the origin knows its end, and the link stays.
    func removeEndlessLink(_ page: inout FetchedPage, _ answer: Answer, isFirst: Bool) async throws {
        let emptyPages = state.withLock { state in
            if page.content.isEmpty { state.emptyPages.insert(answer.url.text) } else { state.emptyPages = [] }
            return state.emptyPages.count
        }
        guard emptyPages >= HTTPSource.mostEmptyPages, page.hasMore == nil, page.total.count == nil,
            let next = page.next.flatMap({ OriginURL($0.text) }),
            let description = state.withLock({ $0.description }),
            description.style == .link || description.style == .nextURL,
            let name = next.counter(behind: answer.url), description.isPosition(name),
            // Held items show that the link of an empty page one leads to them.
            !isFirst || state.withLock({ $0.heldEnd ?? 0 }) == 0
        else { return }
        if let isEndless = state.withLock({ $0.isNextEndless }) {
            if isEndless { page.next = nil }
            return
        }
        var far = next
        far.set(name, String(HTTPSource.farNumber))
        guard let isEndless = try await namesNextPage(far, description) else { return }
        state.withLock { $0.isNextEndless = isEndless }
        if isEndless { page.next = nil }
    }

    /// Whether the answer to a request has no items and names a next page. Returns nil when the origin does not answer,
    /// or the answer cannot be read.
    private func namesNextPage(_ url: OriginURL, _ description: PagingProfile) async throws -> Bool? {
        do {
            let response = try await send(url, [])
            // 400, 404, 416 and 422 refuse a position behind the end.
            guard response.status == 200 else { return [400, 404, 416, 422].contains(response.status) ? false : nil }
            let answer = try Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits)
            let reader = PageReader(
                answer: answer, description: description, base: self.url, isFirst: false, limits: configuration.limits,
                mayLackItems: true)
            let content = try reader.content()
            let next = try reader.next(behind: content)
            return content.isEmpty && next != nil
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return nil
        }
    }
}

extension OriginURL {
    /// The only parameter in which a next link differs from the URL of its answer, if its value is a larger number
    /// there, or a number that the URL lacks. Returns nil when the link differs in any other way.
    fileprivate func counter(behind here: OriginURL) -> String? {
        let changed = parameters.filter { here.value(of: $0.plainName) != $0.plainValue }
        guard hasSameOrigin(as: here), path == here.path, changed.count == 1, let number = Int(changed[0].plainValue)
        else { return nil }
        let name = changed[0].plainName
        guard parameters.count == here.parameters.count(where: { $0.plainName != name }) + 1 else { return nil }
        guard let text = here.value(of: name) else { return name }
        return Int(text).map { number > $0 } ?? false ? name : nil
    }
}

extension PagingProfile {
    /// Whether a parameter holds a position or a page number.
    fileprivate func isPosition(_ name: String) -> Bool {
        ParameterNames.offset.contains(name) || ParameterNames.page.contains(name)
            || [offsetParameter, pageParameter].contains(name)
    }
}
