#if Tool
import PageModel
import Testing

@testable import pagecache

@Suite("Checks of pagecache doctor")
struct DoctorTests {
    @Test("The age of the oldest sync is that of pinned queries, not of a query that was synchronised by hand")
    func pinned() {
        let pages = [Sample.page(0..<100)]
        let stale = Sample.list(pages, end: 100, validated: .seconds(108_000), isPinned: true)
        let other = Sample.list(pages, end: 100, validated: .seconds(34))
        var checks = DoctorChecks(environment: [:], now: Sample.now)
        checks.checkPinned([stale, other])
        #expect(checks.results.map(\.message) == ["1 of 1 pinned queries is not fresh; oldest sync 30 h ago"])
        #expect(checks.results.first?.status == .warning)
    }
}
#endif
