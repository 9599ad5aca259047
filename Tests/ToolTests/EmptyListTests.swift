#if Tool
import ArgumentParser
import PageModel
import PagedRepository
import Testing
@testable import pagecache

/// Output about lists without items.
@Suite("Lists without items in pagecache list and sync")
struct EmptyListTests {
    @Test("list shows no share of a list without items, and 0 % of a list whose items are missing")
    func share() {
        #expect(List.shareText(of: Sample.list([], end: 0)) == "–")
        #expect(List.shareText(of: Sample.list([], total: .exact(200))) == "0 %")
        #expect(List.shareText(of: Sample.list([Sample.page(0..<50)], total: .exact(200))) == "25 %")
        #expect(List.shareText(of: Sample.list([Sample.page(0..<50)])) == "?")
    }

    @Test("An offline list without cached items names no command that shows them")
    func offline() throws {
        func complaint(_ list: ListOutline) throws -> String? {
            var report = SyncReport(stored: list)
            report.outcome = .offline
            report.headFailure = .status(503)
            let common = try CommonOptions.parse([])
            return SyncRendering(report: report, key: "k", url: "http://h/", common: common).complaint
        }
        let evicted = Sample.list([], total: .exact(200))
        #expect(try complaint(evicted) == "offline: the origin answered 503; no item is cached")
        #expect(try complaint(Sample.list([], end: 0)) == "offline: the origin answered 503; the list is empty")
        let held = try complaint(Sample.list([Sample.page(0..<1)], total: .exact(200)))
        #expect(held?.hasSuffix("shows the 1 cached item") == true)
    }
}
#endif
