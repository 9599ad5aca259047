import PageModel
import PagedRepository
import Synchronization

// Totals that end with a full page, at origins that number their pages (R24).
extension HTTPSource {
    /// Requests the page after the last one that the total counts, if that last page is full and only the total shows
    /// that it is the last. Page numbers allow no overlap, which would show further items. If the requested page has
    /// other items than page one and than the last page, the total becomes an estimate.
    func confirmTotal(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        let (evidence, description) = (draft.evidence, draft.description)
        let first = contact.content.identities.map(\.key)
        guard description.style == .page, let name = description.pageParameter, configuration.total == nil,
            let total = evidence.exactTotal, total > first.count, !first.isEmpty, total.isMultiple(of: first.count),
            evidence.hasMore == nil, evidence.pageCount == nil, evidence.next == nil, evidence.remaining == nil,
            !draft.isInterrupted, !draft.wantsQuiet
        else { return }
        let last = (description.firstPage ?? 1) + total / first.count - 1
        let behind = try await keys(ofPage: last + 1, name, description, contact)
        guard ProbeFinding.following(first, behind) == .proved else { return }
        // Some origins return their last page for each later number.
        let before = try await keys(ofPage: last, name, description, contact)
        guard ProbeFinding.following(before, behind) == .proved else { return }
        draft.description.isEstimate = true
        draft.evidence.total = .estimate(total)
        draft.warnings.append("\(total) items are counted, and page \(last + 1) has others: an estimate")
        draft.explain("total", "an estimate", .proved, "page \(last + 1) has items")
    }

    /// Fetches a page and returns the keys of its items. Keeps the answer for the run that follows (`ReadyAnswers`).
    /// Returns an empty array when no request is left, or when the answer has no readable items.
    private func keys(
        ofPage number: Int, _ name: String, _ description: PagingProfile, _ contact: FirstContact
    ) async throws -> [UInt64] {
        var url = contact.answer.url
        url.set(name, String(number))
        guard remainingRequests(contact) > 0, case .page(let answer) = try await sendProbe(url, contact) else {
            return []
        }
        let reader = PageReader(
            answer: answer, description: description, base: contact.answer.url, isFirst: false,
            limits: configuration.limits)
        guard let content = try? reader.content(), !content.isEmpty else { return [] }
        state.withLock { $0.ready.keep(answer.response, for: url, now: clock.now()) }
        return content.identities.map(\.key)
    }
}
