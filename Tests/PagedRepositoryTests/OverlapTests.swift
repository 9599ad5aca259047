import PageModel
import Testing

@testable import PagedRepository

private let noon = Timestamp(milliseconds: 1_800_000_000_000)

/// An overlap proves the seam between two pages. Overlaps cost at most one request in twenty, and without a total one in
/// nine (R21).
@Suite("Overlaps of pages")
struct OverlapTests {
    /// Loads a list after page one, following its load plans.
    private struct Load {
        let size: Int
        let length: Int
        let isCounted: Bool
        var pages: [PageSummary] = []
        var requests = 1
        var overlaps = 0

        init(size: Int, length: Int, isCounted: Bool) {
            (self.size, self.length, self.isCounted) = (size, length, isCounted)
            store(0..<min(size, length), overlap: 0)
        }

        var list: ListOutline {
            let record = QueryRecord(
                id: QueryID(rawValue: 1), key: QueryKey("k"), version: ListVersion(generation: 1, revision: 0),
                total: isCounted ? .exact(length) : .unknown, end: nil, validatedAt: noon, createdAt: noon,
                allowsDuplicates: false, paging: "", source: "")
            return ListOutline(record: record, pages: pages, ledger: [], readAt: noon)
        }

        private mutating func store(_ range: Range<Int>, overlap: Int) {
            pages.append(
                PageSummary(
                    offset: range.lowerBound, count: range.count, generation: 1, revision: 0,
                    evidence: overlap > 0 || range.lowerBound == 0 ? .verified : .inferred, evidenceAt: noon,
                    fetchedAt: noon, validatedAt: noon, fingerprint: 0, cursorIn: nil, cursorOut: nil, validator: nil))
        }

        mutating func run() {
            while let held = pages.last?.range.upperBound, held < length {
                for case .range(let range, let overlap) in LoadPlan.targets(
                    for: list, access: .offsets, size: size, overlap: 1)
                where range.lowerBound < length {
                    requests += 1
                    overlaps += overlap
                    #expect(range.count + overlap <= size)
                    store(range.lowerBound..<min(range.upperBound, length), overlap: overlap)
                }
            }
        }
    }

    @Test(
        "Overlaps add at most one request in twenty, and without a total at most one in nine, at every page size",
        arguments: 1...30)
    func cost(size: Int) {
        for length in [1, 2, 19, 20, 21, 57, 100, 399, 400, 401, 2_500] {
            for isCounted in [true, false] where isCounted || length <= 401 {
                var load = Load(size: size, length: length, isCounted: isCounted)
                load.run()
                let fewest = (length + size - 1) / size
                #expect(
                    load.requests <= fewest + fewest / (isCounted ? 20 : 9) + 1,
                    "\(length) items, counted: \(isCounted): \(load.requests) requests instead of \(fewest)")
                #expect(load.pages.map(\.range).reduce(0) { $0 == $1.lowerBound ? $1.upperBound : .max } == length)
            }
        }
    }

    @Test("One seam in each period is proven, and pages of 21 items or more prove every seam", arguments: 1...30)
    func proof(size: Int) {
        var load = Load(size: size, length: 2_000, isCounted: true)
        load.run()
        guard size > 1 else { return #expect(load.overlaps == 0) }
        let period = Overlap(1, size: size).period
        #expect(period == (size > 20 ? 1 : (20 + size - 2) / (size - 1)))
        var unproven = 0
        for page in load.pages.dropFirst() {
            unproven = page.evidence == .verified ? 0 : unproven + 1
            #expect(unproven < period)
        }
        #expect(load.pages[1].evidence == .verified, "the seam after page one is always proven")
    }

    @Test("Every process plans a page in the same way, whatever pages are held (R30)", arguments: 2...30)
    func position(size: Int) {
        let overlap = Overlap(1, size: size)
        let all = overlap.spans(size..<2_000, size: size, most: .max)
        for (index, span) in all.enumerated() {
            guard case .range(let range, _) = span else { return #expect(Bool(false)) }
            #expect(overlap.spans(range.lowerBound..<2_000, size: size, most: .max) == Array(all[index...]))
        }
    }

    @Test("The last page of a load is proven where it has room for the overlap")
    func lastPage() {
        let list = Load(size: 4, length: 11, isCounted: true).list
        #expect(
            LoadPlan.targets(for: list, access: .offsets, size: 4, overlap: 1) == [
                .range(4..<7, overlap: 1), .range(7..<11, overlap: 0),
            ])
        let shorter = Load(size: 4, length: 10, isCounted: true).list
        #expect(
            LoadPlan.targets(for: shorter, access: .offsets, size: 4, overlap: 1) == [
                .range(4..<7, overlap: 1), .range(7..<10, overlap: 1),
            ])
    }

    @Test("A wider overlap is requested less often, in proportion to its cost")
    func wider() {
        #expect(Overlap(0, size: 10) == Overlap(-3, size: 10))
        #expect(Overlap(9, size: 4).items == 3 && Overlap(9, size: 4).period == 60)
        #expect(Overlap(2, size: 50).period == 1 && Overlap(2, size: 12).period == 4)
    }
}
