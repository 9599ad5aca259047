import PageModel

/// Which held pages a run requests again, although nothing shows that they changed (R54). A pure decision.
///
/// Pages that were not checked for half the period are due, and a run checks as many of them as two periods' worth of
/// pages allow for the time since the last run. So each page is checked once between half a period and a whole one, if
/// the list is synchronised at least twice in a period.
enum RecheckPlan {
    /// The number of pages to check.
    /// - Parameters:
    ///   - pages: the number of held pages.
    ///   - elapsed: the time since the last run.
    ///   - period: the time in which every page is checked once.
    ///   - chance: a random number in 0..<1. It decides about the fraction of a page.
    static func count(of pages: Int, elapsed: Duration, period: Duration, chance: Double) -> Int {
        let (elapsed, period) = (elapsed.wholeMilliseconds, period.wholeMilliseconds)
        guard elapsed > 0, pages > 0 else { return 0 }
        guard period > 0, elapsed < period / 2 else { return pages }
        let share = 2 * Double(pages) * Double(elapsed) / Double(period)
        let whole = share.rounded(.down)
        return min(pages, Int(whole) + (chance < share - whole ? 1 : 0))
    }

    /// Returns the pages to check, the oldest check first. Page one is checked by every run.
    static func due(_ pages: [PageSummary], count: Int, period: Duration, now: Timestamp) -> [PageSummary] {
        let old = pages.filter { $0.offset > 0 && $0.count > 0 && (now - $0.validatedAt) * 2 >= period }
        return Array(old.sorted { ($0.validatedAt, $0.offset) < ($1.validatedAt, $1.offset) }.prefix(count))
    }
}
