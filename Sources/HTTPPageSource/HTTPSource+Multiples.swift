import PagedRepository
import Synchronization

// Origins whose offsets must be multiples of the page size (R21). They refuse a page that overlaps the one before.
extension HTTPSource {
    /// Records the answer to a request for a whole page by position: items, or a refusal. If the answers show that the
    /// origin accepts only multiples of the page size, the source requests no other offset from then on. The next page
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

    /// Returns whether to try a multiple of the page size as well, because the caller wants no overlap (`overlap` is
    /// 0). The origin has refused the position of page one's last item, or returned nothing or page one for it. If the
    /// caller names neither the parameter nor the style, only one parameter is tried in this way, and only if page one
    /// names no next page.
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

    /// Returns whether the list ends with page one, at an origin that accepts only multiples of the page size. The
    /// origin must have refused the last item of page one, and return nothing at the next multiple. After a page that
    /// is shorter than the size in the URL, the next multiple is that size. The caller must name the parameter or the
    /// style, and nothing in page one may show that items follow. Records the page size if the list ends.
    /// - Parameters:
    ///   - aligned: the verdict on the position after page one.
    ///   - overlap: the detail of the verdict on the last item of page one.
    func endsAtMultiple(
        _ aligned: ProbeVerdict, behind overlap: String, _ name: String, _ first: Int, _ draft: inout DetectionDraft,
        _ contact: FirstContact
    ) async throws -> Bool {
        guard case .failed(let detail) = aligned, overlap.hasPrefix("answered"), showsNoMore(draft),
            configuration.paging == .offset || configuration.offsetParameter == name
        else { return false }
        var url = contact.answer.url
        let parameter =
            configuration.limitParameter ?? draft.description.limitParameter ?? ParameterNames.size(in: url)
        let count = contact.content.count
        let size = max(parameter.flatMap { url.value(of: $0) }.flatMap { Int($0) } ?? count, count)
        if detail != ProbeFinding.nothing.detail {
            guard detail.hasPrefix("answered"), size > count, remainingRequests(contact) > 0 else { return false }
            url.set(name, String(size + first))
            let behind = try await compare(url, &draft, contact) { ProbeFinding.following($0, $1) }
            guard case .failed(ProbeFinding.nothing.detail) = behind else { return false }
        }
        believeTotal(&draft)
        draft.description.acceptMultiples(of: size)
        return true
    }

    /// Returns the profile if an answer for a later page has changed it since the last call. Returns nil otherwise.
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
