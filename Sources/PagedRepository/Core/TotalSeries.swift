/// The exact totals that an origin sent in one run. Pure logic, without I/O.
///
/// When a list grows or shrinks, the origin sends the new total from then on. A total that returns after another one
/// comes from a lagging replica or an inexact counter (R25). The totals count as unsteady after two returns, if at
/// least every fourth round has one. Items that are inserted and deleted during the run also make the total return, but
/// rarely.
///
/// Answers to requests that were in flight together may arrive in any order. So an answer follows an earlier one only
/// if the earlier answer had arrived before the request for the later one was sent. A round is the longest sequence of
/// answers in which none follows the first one.
struct TotalSeries: Equatable {
    /// The number of totals that have arrived. A run records this number with each request that it sends.
    private(set) var count = 0
    /// The smallest total. `nil` before the first one.
    private(set) var least: Int?
    /// The totals that no other total has followed yet, with the number of their first arrival.
    private var current: [Int: Int] = [:]
    /// The totals that another total has followed, with the number of the arrival of that other total.
    private var followed: [Int: Int] = [:]
    private var returns = 0
    private var rounds = 0
    /// The number of the arrival that began the last round.
    private var roundBegan = -1

    /// Whether the totals return to earlier values, so that none of them can serve as a check.
    var areUnsteady: Bool { returns >= 2 && returns * 4 >= rounds }

    /// Records the total of an answer.
    /// - Parameter before: the number of totals that had arrived when the request was sent.
    mutating func note(_ total: Int, askedBehind before: Int) {
        let arrival = count
        count += 1
        least = min(total, least ?? total)
        if before > roundBegan { (rounds, roundBegan) = (rounds + 1, arrival) }
        if let other = followed[total] {
            if other < before {
                returns += 1
                followed[total] = nil
                current[total] = arrival
            }
        } else if current[total] == nil {
            current[total] = arrival
        }
        for (other, arrived) in current where other != total && arrived < before {
            current[other] = nil
            followed[other] = arrival
        }
    }
}
