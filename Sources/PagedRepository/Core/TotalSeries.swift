/// The exact totals that an origin gave in one run, in order. Pure.
///
/// A list that grows or shrinks gives a new total and stays with it. A total that returns to an earlier value in every
/// fourth answer, and at least twice, is one of a replica that lags, or of a counter that is not exact (R25). Items that
/// are inserted and deleted while the list is loaded also make it return, but rarely.
struct TotalSeries: Equatable {
    private var seen: Set<Int> = []
    private var last: Int?
    private var returns = 0
    private var answers = 0

    /// Whether the totals return to earlier values, so that none of them is a check digit.
    var areUnsteady: Bool { returns >= 2 && returns * 4 >= answers }

    /// Notes the total of an answer.
    mutating func note(_ total: Int) {
        defer { last = total }
        answers += 1
        guard total != last else { return }
        if !seen.insert(total).inserted { returns += 1 }
    }
}
