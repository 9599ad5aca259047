import PageModel
import Synchronization

// Totals that stand in headers, and those that only HEAD brings (R16).
extension HTTPPageSource {
    /// What the headers of an answer without a body say of the list's length.
    func totalInHeaders(_ response: HTTPPageResponse, _ description: SourceDescription?) -> Total {
        guard case .header(let name) = description?.total,
            let number = response.header(name).flatMap({ $0.split(separator: "/").last }).flatMap({ JSONText.wholeNumber(String($0)) })
        else { return .unknown }
        let total = Total(claimed: number)
        return description?.isEstimate == true ? total.count.map { .estimate($0) } ?? .unknown : total
    }

    /// Asks HEAD for the total where it was learned that it stands there; unknown elsewhere, and when no answer comes: page one
    /// is not lost for that.
    func totalByHead(_ url: OriginURL, _ description: SourceDescription?) async throws -> Total {
        guard let description, description.isTotalByHead == true else { return .unknown }
        do {
            let response = try await send(url, [], method: "HEAD")
            return (200...299).contains(response.status) ? totalInHeaders(response, description) : .unknown
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return .unknown
        }
    }

    /// First contact: page one shows no total. Once HEAD is asked, where knowing it changes what is done next: the list goes on,
    /// or may go on.
    func askHead(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        let isSaid: Bool
        switch configuration.total {
        case .header: isSaid = true
        case .body: return
        case nil: isSaid = false
        }
        guard draft.evidence.total == .unknown, draft.evidence.count > 0, !PagingChoice.isWhole(draft.evidence),
            isSaid || configuration.paging == .auto, mayAskHead(contact), left(contact) > 0
        else { return }
        do {
            let response = try await send(contact.answer.url, [], method: "HEAD", most: left(contact))
            let place = isSaid ? configuration.total : Detector.totalPlace(inHeaders: response, atLeast: draft.evidence.count)
            var described = draft.description
            described.total = place
            let total = totalInHeaders(response, described)
            guard (200...299).contains(response.status), let place, total != .unknown else {
                if response.status == 429 { interrupt(&draft, "answered 429") }
                return draft.explain("total", "HEAD", .failed, response.status == 200 ? "no total there" : "answered \(response.status)")
            }
            draft.description.total = place
            draft.description.isTotalByHead = true
            draft.evidence.total = total
            draft.explain("total", place.description, .proved, "on HEAD only")
        } catch {
            if Task.isCancelled { throw CancellationError() }
            draft.explain("total", "HEAD", .failed, "no answer")
        }
    }

    /// RFC 9110, 10.2.1: `Allow` lists what is allowed. What was tried in vain on an earlier first contact is not tried again.
    private func mayAskHead(_ contact: FirstContact) -> Bool {
        if let earlier = contact.earlier, earlier.searched != nil, earlier.isTotalByHead != true { return false }
        return contact.answer.response.header("Allow").map { $0.uppercased().contains("HEAD") } ?? true
    }
}
