import PageModel
import Testing

@testable import PagedRepository

@Suite("Recently stored pages")
struct RecentPagesTests {
    private func identities(_ names: [String]) -> [ItemIdentity] {
        PageContent(names.map { RawItem(payload: Array($0.utf8), id: $0) }).identities
    }

    private func page(_ names: [String], at offset: Int) -> PageSummary {
        let now = Timestamp(milliseconds: 0)
        return PageSummary(
            offset: offset, count: names.count, generation: 1, revision: 0, evidence: .inferred, evidenceAt: now,
            fetchedAt: now,
            validatedAt: now, fingerprint: PageContent.fingerprint(of: identities(names)), cursorIn: nil,
            cursorOut: nil, validator: nil)
    }

    @Test("Items next to a recent page agree with it or contradict it without a read (R21)")
    func sides() {
        var recent = RecentPages()
        recent.keep(identities(["a", "b", "c"]))
        let held = [page(["a", "b", "c"], at: 10)]
        #expect(recent.agree(with: identities(["c", "d"]), at: 12..<14, pages: held) == true)
        #expect(recent.agree(with: identities(["z", "a", "b"]), at: 9..<12, pages: held) == true)
        #expect(recent.agree(with: identities(["b", "d"]), at: 12..<14, pages: held) == false)
        #expect(recent.agree(with: identities(["z", "b", "a"]), at: 9..<12, pages: held) == false)
    }

    @Test("An edited item counts as the same item, because only its position is compared")
    func edited() {
        var recent = RecentPages()
        recent.keep(identities(["a", "b"]))
        let arrived = PageContent([RawItem(payload: Array("other".utf8), id: "b"), RawItem(payload: [1], id: "c")])
            .identities
        #expect(recent.agree(with: arrived, at: 1..<3, pages: [page(["a", "b"], at: 0)]) == true)
    }

    @Test("A stored page that is not recent must be read, whatever else agrees")
    func unknown() {
        var recent = RecentPages()
        recent.keep(identities(["a", "b"]))
        let held = [page(["a", "b"], at: 0), page(["x", "y"], at: 4)]
        #expect(recent.agree(with: identities(["b", "c", "d", "x"]), at: 1..<5, pages: held) == nil)
        #expect(recent.agree(with: identities(["b", "c", "d"]), at: 1..<4, pages: held) == true, "it is elsewhere")
        for number in 0..<100 { recent.keep(identities(["\(number)"])) }
        #expect(recent.agree(with: identities(["b", "c"]), at: 1..<3, pages: held) == nil, "too long ago")
    }
}
