import PagedRepository
import Synchronization

// Origins whose offsets must be multiples of the page size (R21). They refuse a page that overlaps the one before.
extension HTTPSource {
    /// Records the answer to a request for a whole page by position: items, or a refusal. If the answers show that the
    /// origin accepts only multiples of the page size, the source requests no other offset from now on. The next page
    /// carries the changed profile to the storage.
    func observe(_ request: PageRequest, hasItems: Bool) {
        guard case .offset(let position) = request.target else { return }
        state.withLock { state in
            guard state.description?.style == .offset, state.description?.gridSize == nil,
                let full = state.multiples.pageSize, request.size ?? full >= full
            else { return }
            if hasItems {
                state.multiples.observe(itemsAt: position)
            } else {
                state.multiples.observe(refusalOf: position)
            }
            guard let size = state.multiples.size else { return }
            state.description?.acceptMultiples(of: size)
            state.isProfileNew = true
        }
    }

    /// Whether the caller wants no overlap, so that a multiple of the page size is tried as well: the origin refused the
    /// last item of page one, returned nothing, or rounded the position down to page one. The caller names the
    /// parameter, or it is the first one, and page one has no other way on.
    func mayWantMultiples(
        _ name: String, _ detail: String, _ draft: DetectionDraft, _ contact: FirstContact
    ) -> Bool {
        let isWanted =
            configuration.offsetParameter == name || configuration.paging == .offset
            || !draft.hasTriedMultiple && !draft.isChained
        return configuration.overlap == 0 && isWanted && contact.content.count > 1 && remainingRequests(contact) > 0
            && (detail.hasPrefix("answered") || detail == ProbeFinding.nothing.detail
                || detail == ProbeFinding.pageOne.detail)
    }

    /// The profile that the answers behind page one have changed, once. `nil` if they have not changed it.
    func takeChangedProfile() -> DetectedPaging? {
        state.withLock { state in
            guard state.isProfileNew, let description = state.description else { return nil }
            state.isProfileNew = false
            return DetectedPaging(paging: description.style.rawValue, source: description.json, warnings: [])
        }
    }
}

extension PagingProfile {
    /// Records that an offset must be a multiple of the page size.
    mutating func acceptMultiples(of size: Int) {
        gridSize = size
        reasons =
            (reasons ?? []) + [
                PagingDecision(
                    "offset", "multiples of \(size)", .proved, detail: "the origin refuses other positions")
            ]
    }
}
