import Testing

@testable import PagedRepository

@Suite("The exact totals of a run")
struct TotalSeriesTests {
    /// A run with four requests in flight. Each round sends four requests together.
    private func rounds(_ count: Int, _ totals: (Int) -> [Int]) -> TotalSeries {
        var series = TotalSeries()
        for round in 0..<count {
            let before = series.count
            for total in totals(round) { series.note(total, askedBehind: before) }
        }
        return series
    }

    @Test("A list that only grows is steady, in whatever order the answers of one round arrive (R25)")
    func grows() {
        #expect(!rounds(20) { [61 + $0, 60 + $0, 61 + $0, 60 + $0] }.areUnsteady)
        #expect(!rounds(20) { [60 + $0, 61 + $0, 61 + $0, 60 + $0] }.areUnsteady)
        #expect(!rounds(20) { [64 + 4 * $0, 61 + 4 * $0, 63 + 4 * $0, 62 + 4 * $0] }.areUnsteady)
    }

    @Test("Two replicas that answer in turn are noticed, one request after the other and four at a time")
    func replicas() {
        #expect(rounds(6) { [$0.isMultiple(of: 2) ? 65 : 67] }.areUnsteady)
        #expect(rounds(6) { _ in [65, 67, 65, 67] }.areUnsteady)
        var series = TotalSeries()
        for answer in 0..<16 { series.note(65 + 2 * (answer % 2), askedBehind: max(0, answer - 3)) }
        #expect(series.areUnsteady)
        #expect(series.least == 65)
    }

    @Test("A change that is taken back once does not make the totals unsteady")
    func once() {
        #expect(!rounds(12) { [$0 == 4 ? 61 : 60] }.areUnsteady)
    }
}
