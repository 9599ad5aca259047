import PageModel
import PagedRepository
import Synchronization

// Numbered next links that never end: each answer after the last item has one, with the next number.
extension HTTPSource {
    /// A position or a page number that is assumed to be after the end of any list.
    private static let farNumber = 1_000_000
    /// The number of successive pages without items after which a next link may be endless.
    private static let mostEmptyPages = 6

    /// Removes the next link of a page without items, if the origin has a next link everywhere. The link differs from
    /// the URL of the page only in a larger position or page number, and no total counts the list (R24).
    ///
    /// All items of a page in the middle can be hidden (R53), so several pages without items have to follow each other.
    /// One request with the number 1,000,000 then decides, and the source keeps the decision. An origin that names a
    /// next page even there names one in every answer, so the link is removed. Otherwise the origin knows its end, and
    /// the link stays.
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

    /// Requests a URL, and returns whether the answer has no items and names a next page. Returns false when the origin
    /// refuses the position. Returns nil when the request fails otherwise, or the answer cannot be read.
    private func namesNextPage(_ url: OriginURL, _ description: PagingProfile) async throws -> Bool? {
        do {
            let response = try await send(url, [])
            // 400, 404, 416 and 422 refuse a position after the end.
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
    /// Returns the name of the only parameter in which a next link differs from `here`, the URL of its answer. Its
    /// value must be a larger number than in `here`, or a number where `here` lacks the parameter. Returns nil when the
    /// link differs in any other way.
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
