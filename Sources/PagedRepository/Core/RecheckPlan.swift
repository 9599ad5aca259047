import PageModel

/// Which held pages a run requests again, although nothing shows that they changed (R54). A pure decision.
///
/// A pointer moves through the positions of the list, from the first to the last in three quarters of a period. A run
/// checks the pages that the pointer has passed since the last run, without those that were checked less than a quarter
/// of a period ago. So each page is checked at most one period after its last check.
enum RecheckPlan {
    /// Returns the positions that the pointer has passed between two runs.
    /// - Parameters:
    ///   - end: the end of the list.
    ///   - last: the time of the last run.
    ///   - now: the time of this run.
    ///   - period: the time in which every page is checked once.
    static func passed(end: Int, from last: Timestamp, to now: Timestamp, period: Duration) -> [Range<Int>] {
        let cycle = period.wholeMilliseconds / 4 * 3
        guard end > 0, now > last else { return [] }
        guard cycle > 0, (now - last).wholeMilliseconds < cycle else { return [0..<end] }
        func pointer(_ time: Timestamp) -> Int {
            let phase = ((time.milliseconds % cycle) + cycle) % cycle
            return Int(Double(phase) / Double(cycle) * Double(end))
        }
        let (from, to) = (pointer(last), pointer(now))
        return (from <= to ? [from..<to] : [from..<end, 0..<to]).filter { !$0.isEmpty }
    }

    /// Returns the pages to check of those that begin in `range`. Page one is checked by every run.
    static func due(_ pages: [PageSummary], in range: Range<Int>, period: Duration, now: Timestamp) -> [PageSummary] {
        pages.filter {
            $0.offset > 0 && $0.count > 0 && range.contains($0.offset) && (now - $0.validatedAt) * 4 >= period
        }
    }
}
