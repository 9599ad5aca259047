/// The exact totals that an origin sent in one run, in order. A pure decision.
///
/// A list that grows or shrinks sends a new total and stays with it. A total that returns to an earlier value comes
/// from a lagging replica or an inexact counter (R25). The totals count as unsteady after two returns, if at least
/// every fourth answer is one. Items that are inserted and deleted during the run also make the total return, but
/// rarely.
struct TotalSeries: Equatable {
    private var seen: Set<Int> = []
    private var last: Int?
    private var returns = 0
    private var answers = 0

    /// Whether the totals return to earlier values, so that none of them can serve as a check.
    var areUnsteady: Bool { returns >= 2 && returns * 4 >= answers }

    /// Records the total of an answer.
    mutating func note(_ total: Int) {
        defer { last = total }
        answers += 1
        guard total != last else { return }
        if !seen.insert(total).inserted { returns += 1 }
    }
}
