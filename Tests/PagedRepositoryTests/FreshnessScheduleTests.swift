import PageModel
import Testing

@testable import PagedRepository

@Suite("Due time of page one in the background")
struct FreshnessScheduleTests {
    private func job(
        _ age: Duration, freshFor: Duration? = nil, isInvalidated: Bool = false,
        _ policy: FreshnessPolicy = FreshnessPolicy()
    ) -> Duration? {
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        let scheduler = SyncScheduler(rules: SyncScheduler.Rules(freshness: policy, longestPause: .seconds(3_600)))
        let list = SyncScheduler.List(
            query: QueryID(rawValue: 1), isPinned: true, validatedAt: now + (.zero - age), freshFor: freshFor,
            isInvalidated: isInvalidated,
            isComplete: true, isSweeping: false, headFailure: nil)
        return scheduler.job(for: list, now: now).map { $0.dueAt - now }
    }

    @Test("Page one is due when the origin's max-age ends, and at once when the list is invalidated")
    func due() {
        #expect(job(.seconds(10), freshFor: .seconds(600)) == .seconds(590))
        #expect(job(.seconds(10), freshFor: .seconds(600), isInvalidated: true) == .zero)
        #expect(job(.seconds(10), freshFor: .seconds(5)) == .zero)
        #expect(
            job(.seconds(10), freshFor: .seconds(5), EngineOptions().freshness) == .seconds(50), "raised to 60 seconds")
    }

    @Test("Background work does not fetch without pause from an origin with a max-age of zero")
    func neverFresh() {
        #expect(job(.zero, freshFor: .zero) == .seconds(1))
        #expect(job(.milliseconds(400), freshFor: .zero) == .milliseconds(600))
        #expect(job(.milliseconds(400), freshFor: .milliseconds(500)) == .milliseconds(600))
        #expect(job(.zero, freshFor: .zero, EngineOptions().freshness) == .seconds(60))
    }
}
