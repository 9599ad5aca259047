public import PageModel
import PagedRepository
import Synchronization

/// How an origin pages, and the cost of fetching its list: the result of ``HTTPSource/survey(size:)``, which stores
/// nothing.
public struct SourceSurvey: Sendable {
    /// The paging style in one word.
    public var paging: String
    /// The style, its parameters and its places, in one line.
    public var summary: String
    /// Whether the answers prove the style, or that page one is the whole list.
    public var isProven: Bool
    /// The number of items in page one.
    public var pageItems: Int
    /// Whether each item of page one has an id.
    public var hasIDs: Bool
    /// The length of the list, as the origin states it.
    public var total: ListTotal
    /// Whether page one has an entity tag, so that an unchanged page costs no body (RFC 9110, 8.8.3).
    public var hasEntityTag: Bool
    /// Whether page one has a date of its last change (RFC 9110, 8.8.2).
    public var hasLastModified: Bool
    /// The time for which the origin calls page one fresh. `nil` means that the answer does not state it.
    public var freshFor: Duration?
    /// The header fields of page one that state a rate limit, as `Name: value`.
    public var rateLimits: [String]
    /// The number of requests that the source has sent since it was created: with a new source, those of this call.
    /// They include a request for page two, unless the requests of detection already proved the style.
    public var requests: Int
    /// The estimated number of requests of a first sync, including those already sent. `nil` if the length of the list
    /// is unknown.
    public var estimatedRequests: Int?
    /// The estimated time of these requests: the time of this call, and the time of the remaining requests at the same
    /// pace. Remaining requests count as four at a time where the style allows it. `nil` if the length of the list is
    /// unknown.
    public var estimatedTime: Duration?
    /// Warnings for people: contradictions and guesses.
    public var warnings: [String]
    /// Each decision with its reason.
    public var explanation: [PagingDecision]
}

extension HTTPSource {
    /// Fetches page one, detects how the origin pages, and estimates the cost of a sync. Stores nothing.
    /// - Parameter size: the number of items to request in a page. `nil` leaves it to the origin. Defaults to `nil`.
    /// - Throws: `FetchFailure` as `fetch(_:)` does; with class `rejected` when the origin has no page one.
    ///   `CancellationError` when the task is cancelled.
    public func survey(size: Int? = nil) async throws -> SourceSurvey {
        let (begun, sentBefore) = (clock.now(), usage.requests)
        guard case .page(let page) = try await fetch(PageRequest(.first, size: size)) else {
            throw FetchFailure(.rejected, "the origin has no page one", isRetryable: false)
        }
        let (description, fields) = state.withLock { ($0.description, $0.rateLimits) }
        let isGuess = description?.reasons?.contains { $0.reason == .assumed } ?? false
        let isPart = access == .single && (page.hasMore == true || page.total.count ?? 0 > page.content.count)
        var survey = SourceSurvey(
            paging: description?.style.rawValue ?? "", summary: summary ?? "", isProven: !isGuess && !isPart,
            pageItems: page.content.count, hasIDs: !page.content.isEmpty && page.content.ids.allSatisfy { $0 != nil },
            total: page.total, hasEntityTag: page.validator?.entityTag != nil,
            hasLastModified: page.validator?.lastModified != nil, freshFor: page.freshFor,
            rateLimits: fields.map { "\($0.name): \($0.value)" }, requests: usage.requests,
            warnings: page.detectedPaging?.warnings ?? [], explanation: explanation)
        let requestsBefore = usage.requests
        if survey.isProven, let next = unproven(behind: page) {
            let fault =
                isSpent
                ? "the second page was not requested: the limit of \(HTTPSource.detectionBudget) requests is reached"
                : try await fault(of: next, behind: page)
            survey.isProven = fault == nil
            survey.warnings += [fault].compactMap(\.self)
            survey.requests = usage.requests
        }
        if let rest = remainingPages(behind: page) {
            // The second page may already have been requested.
            let requests = max(survey.requests, requestsBefore + rest)
            let spent = clock.now() - begun
            let atOnce = access.supportsRandomAccess ? 4 : 1
            let rounds = (requests - survey.requests + atOnce - 1) / atOnce
            survey.estimatedRequests = requests
            survey.estimatedTime = spent + spent / max(survey.requests - sentBefore, 1) * rounds
        }
        return survey
    }

    /// Whether detection has spent all its requests. Repeats after faults do not count.
    private var isSpent: Bool {
        state.withLock { $0.usage.requests - $0.repeats >= HTTPSource.detectionBudget }
    }

    /// Returns the second page if page one alone shows how to request it, and no answer has proved that way. Returns
    /// nil when an answer has proved the way, or when the list ends with page one.
    private func unproven(behind page: FetchedPage) -> PageRequest.Target? {
        let description = state.withLock { $0.description }
        let isProved =
            description?.reasons?.contains { $0.reason == .proved && ["offset", "page", "cursor"].contains($0.field) }
            ?? false
        guard !isProved, description?.style != PagingProfile.Style.none, page.hasMore != false else { return nil }
        if let next = page.next { return .cursor(next) }
        guard access.supportsRandomAccess, !page.content.isEmpty, page.total.count ?? .max > page.content.count else {
            return nil
        }
        return .offset(page.content.count)
    }

    /// Fetches the second page, and returns the reason why it does not follow page one. Returns nil when it follows.
    private func fault(of target: PageRequest.Target, behind page: FetchedPage) async throws -> String? {
        do {
            guard case .page(let second) = try await fetch(PageRequest(target)) else {
                return "the second page does not exist, although page one names it"
            }
            let (one, two) = (page.content.identities.map(\.key), second.content.identities.map(\.key))
            return two.isEmpty || ProbeFinding.following(one, two) == .proved
                ? nil : "the second page \(ProbeFinding.pageOne.detail)"
        } catch let failure as FetchFailure {
            return "the second page could not be fetched: \(failure.message)"
        }
    }

    /// The number of pages after page one. Returns nil if the length of the list is unknown.
    private func remainingPages(behind page: FetchedPage) -> Int? {
        let count = page.content.count
        if access == .single || page.hasMore == false || access == .chain && page.next == nil { return 0 }
        guard let total = page.total.count, count > 0 else { return nil }
        // Pages overlap by one item where any offset can be requested (R21).
        let step = access == .offsets && count > 20 ? count - 1 : count
        return max(total - count + step - 1, 0) / step
    }
}
