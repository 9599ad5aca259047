import PageModel
import PagedRepository
import Synchronization

// Updates of a stored paging profile from a later page one.
extension HTTPSource {
    /// Updates the page size in the profile when page one shows another grid now: the old size would put items at wrong
    /// positions. Passes a changed profile to the storage in `page.detectedPaging`, with the warning `nonsense`.
    func adopt(
        _ page: inout FetchedPage, _ latest: PagingProfile, known: PagingProfile, _ nonsense: String?
    ) {
        var description = latest
        let isWhole = page.total.exactCount.map { $0 <= page.content.count } ?? false
        let isOtherGrid =
            description.style == .page && !page.content.isEmpty && !isWhole
            && description.gridSize != page.content.count
        let isLongerGrid = description.style == .offset && description.gridSize ?? .max < page.content.count
        if isOtherGrid || isLongerGrid { description.gridSize = page.content.count }
        guard description != known || nonsense != nil else { return }
        state.withLock { [description] in $0.description = description }
        page.detectedPaging = DetectedPaging(
            paging: description.style.rawValue, source: description.json, warnings: [nonsense].compactMap(\.self))
    }

    /// Corrects a profile that counts positions from 0, when position 1 returns page one. A change of the list during
    /// detection can cause such a profile, and no run then reads the list to its end. The check runs once after each
    /// `restore(from:)`, and only while the end of the list is not known.
    func confirmFirstOffset(_ description: inout PagingProfile, _ page: FetchedPage, _ url: OriginURL) async throws {
        let isOpen = state.withLock { state in
            defer { state.isFirstOffsetOpen = false }
            return state.isFirstOffsetOpen
        }
        guard isOpen, page.content.count > 1, let name = description.offsetParameter else { return }
        var first = url
        first.set(name, "1")
        // Page one is requested again, because a list that has grown meanwhile also returns it for position 1.
        for target in [first, url] {
            guard let again = try await items(at: target, description),
                again.identities == page.content.identities
            else { return }
        }
        description.firstOffset = 1
        let decision = PagingDecision("offset", name, .proved, detail: "the first item is number 1")
        description.reasons = (description.reasons ?? []) + [decision]
    }

    /// The items at a URL. Returns nil when the request fails, or its answer has no readable items.
    /// - Throws: `CancellationError` when the task is cancelled.
    private func items(at url: OriginURL, _ description: PagingProfile) async throws -> PageContent? {
        do {
            let response = try await send(url, [])
            guard response.status == 200 else { return nil }
            let answer = try Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits)
            return try PageReader(
                answer: answer, description: description, base: url, isFirst: true, limits: configuration.limits
            ).content()
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return nil
        }
    }
}
