import PageModel
import PagedRepository
import PagedRepositoryTesting

/// A downloader without a cache, which requests one page after the other until the origin says that the list has ended.
enum NaiveWalk {
    /// Returns the number of requests that one download takes from an origin with this plan.
    static func requests(_ plan: OriginPlan) async -> Int {
        let origin = SimulatedOrigin(plan)
        var request = PageRequest(.first)
        var offset = 0
        while origin.usage.requests < 2_000 {
            guard let answer = try? await origin.fetch(request) else { continue }
            guard case .page(let page) = answer, !page.content.isEmpty, page.hasMore != false else { break }
            offset += plan.style == .page ? plan.usualSize : page.content.count
            if plan.access == .chain {
                guard let next = page.next else { break }
                request.target = .cursor(next)
            } else {
                if let total = page.total.exactCount, offset >= total { break }
                request.target = .offset(offset)
            }
        }
        return origin.usage.requests
    }
}
