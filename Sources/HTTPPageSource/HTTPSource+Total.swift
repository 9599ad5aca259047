import PageModel
import Synchronization

// Totals in headers, and totals that only HEAD returns (R16).
extension HTTPSource {
    /// The total in the headers of an answer without a body.
    func totalInHeaders(_ response: HTTPPageResponse, _ description: PagingProfile?) -> ListTotal {
        guard case .header(let name) = description?.total,
            let number = response.header(name).flatMap({ $0.split(separator: "/").last }).flatMap({
                JSONText.wholeNumber(String($0))
            })
        else { return .unknown }
        let total = ListTotal(claimed: number)
        return description?.isEstimate == true ? total.count.map { .estimate($0) } ?? .unknown : total
    }

    /// Fetches the total with HEAD when an earlier answer to HEAD had it. Returns `unknown` in all other cases. A
    /// failed HEAD also returns `unknown`, so that page one is still used.
    func totalByHead(_ url: OriginURL, _ description: PagingProfile?) async throws -> ListTotal {
        guard let description, body == nil, description.isTotalByHead == true else { return .unknown }
        do {
            let response = try await send(url, [], method: "HEAD")
            return (200...299).contains(response.status) ? totalInHeaders(response, description) : .unknown
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return .unknown
        }
    }

    private var isTotalHeaderSaid: Bool { if case .header = configuration.total { true } else { false } }

    /// The result of a HEAD request whose use for the total was not known before.
    private enum HeadFinding {
        case total(HTTPSourceConfiguration.Place, ListTotal)
        case nothing(String)
        /// A temporary fault of the origin or the network, which proves nothing.
        case silent(String)
        case wantsQuiet
    }

    private func findTotalByHead(
        _ url: OriginURL, _ description: PagingProfile, atLeast count: Int, most: Int? = nil
    ) async throws -> HeadFinding {
        let response: HTTPPageResponse
        do {
            response = try await send(url, [], method: "HEAD", most: most)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            let isForGood = (error as? FetchFailure)?.isRetryable == false
            return isForGood ? .nothing("no answer") : .silent("no answer")
        }
        switch response.status {
        case 200...299: break
        case 429: return .wantsQuiet
        case 408, 425, 500, 502...599: return .silent("answered \(response.status)")
        default: return .nothing("answered \(response.status)")
        }
        var described = description
        described.total =
            isTotalHeaderSaid ? configuration.total : Detector.totalPlace(inHeaders: response, atLeast: count)
        guard let place = described.total else { return .nothing("no total there") }
        let total = totalInHeaders(response, described)
        return total == .unknown ? .nothing("no total there") : .total(place, total)
    }

    /// Sends HEAD once on first contact when page one shows no total, not even one that a probe has disproved. HEAD is
    /// sent only if a total would change the next steps, that is, if the list continues or may continue.
    func sendHead(_ draft: inout DetectionDraft, _ contact: FirstContact) async throws {
        if case .body = configuration.total { return }
        guard body == nil, !draft.isInterrupted, !draft.wantsQuiet, !draft.isProvenWhole,
            draft.evidence.total == .unknown, draft.evidence.count > 0, !draft.evidence.isTotalWeak,
            !PagingChoice.isWhole(draft.evidence),
            isTotalHeaderSaid
                || configuration.paging == .auto && !PagingChoice.ends(draft.evidence) && speaksInHeaders(draft),
            maySendHead(contact), remainingRequests(contact) > 0
        else { return }
        let finding = try await findTotalByHead(
            contact.answer.url, draft.description, atLeast: draft.evidence.count, most: remainingRequests(contact))
        switch finding {
        case .total(let place, let total):
            draft.description.total = place
            draft.description.isTotalByHead = true
            draft.evidence.total = total
            draft.explain("total", place.description, .proved, "on HEAD only")
        case .nothing(let detail):
            draft.explain("total", "HEAD", .failed, detail)
        case .wantsQuiet where draft.description.style == .none:
            interrupt(&draft, "answered 429")
            draft.explain("total", "HEAD", .failed, "answered 429")
        case .silent, .wantsQuiet:
            var detail = "answered 429"
            if case .silent(let reason) = finding { detail = reason }
            draft.description.unansweredHeads = (contact.earlier?.unansweredHeads ?? 0) + 1
            draft.warnings.append(
                "could not detect whether HEAD states the total (\(detail)); the next run tries again")
            draft.explain("total", "HEAD", .failed, detail)
        }
    }

    /// Whether a header may count the list: the way to the next page is in a header, page one is a bare array, or no
    /// way is known. An origin that names the next page in the body usually counts the list there, too.
    private func speaksInHeaders(_ draft: DetectionDraft) -> Bool {
        if case .header = draft.description.next { return true }
        return draft.description.style == .none || draft.evidence.isBare
    }

    /// Whether the origin may answer HEAD with a total. `Allow` lists the methods that the origin supports (RFC 9110,
    /// 10.2.1). HEAD is not repeated when an earlier first contact tried it in vain.
    private func maySendHead(_ contact: FirstContact) -> Bool {
        if let earlier = contact.earlier, earlier.searched != nil, earlier.isTotalByHead != true, !earlier.awaitsHead {
            return false
        }
        return contact.answer.response.header("Allow").map { $0.uppercased().contains("HEAD") } ?? true
    }

    /// Repeats HEAD with a later page one, so that a list does not stay without a total after a short outage on first
    /// contact.
    func totalByHeadAgain(_ url: OriginURL, _ description: inout PagingProfile, atLeast count: Int) async throws
        -> ListTotal
    {
        let finding = try await findTotalByHead(url, description, atLeast: count)
        var (total, reason) = (ListTotal.unknown, PagingDecision("total", "HEAD", .failed))
        switch finding {
        case .silent, .wantsQuiet:
            description.unansweredHeads = (description.unansweredHeads ?? 0) + 1
            return .unknown
        case .nothing(let detail):
            reason.detail = detail
        case .total(let place, let known):
            total = known
            description.total = place
            description.isTotalByHead = true
            reason = PagingDecision("total", place.description, .proved, detail: "on HEAD only")
        }
        description.unansweredHeads = nil
        let others = (description.reasons ?? []).filter { $0.field != reason.field || $0.value != "HEAD" }
        description.reasons = others + [reason]
        return total
    }
}
