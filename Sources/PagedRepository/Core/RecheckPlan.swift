import PageModel

/// Selects the held pages that a run requests again, although no answer shows that they changed (R54). Pure logic,
/// without I/O.
///
/// A pointer moves through the positions of the list, from the first to the last in three quarters of a period. A page
/// is due when the pointer has passed it at least a quarter of a period after its last check. So each page is checked
/// at most one period after its last check, or by the next run after that time.
///
/// No stored time says when a run last checked pages. A run therefore looks back from the pointer, until it finds a
/// stretch without a due page.
enum RecheckPlan {
    /// Returns the positions that the pointer has passed between two times.
    /// - Parameters:
    ///   - end: the end of the list.
    ///   - last: the earlier time.
    ///   - now: the later time.
    ///   - period: the time in which every page is checked once.
    static func passed(end: Int, from last: Timestamp, to now: Timestamp, period: Duration) -> [Range<Int>] {
        let cycle = cycle(period)
        guard end > 0, now > last else { return [] }
        guard cycle > 0, (now - last).wholeMilliseconds < cycle else { return [0..<end] }
        let (from, to) = (pointer(last, end, cycle), pointer(now, end, cycle))
        return (from <= to ? [from..<to] : [from..<end, 0..<to]).filter { !$0.isEmpty }
    }

    /// Returns the positions of the list in stretches, beginning with the positions that the pointer has passed last.
    /// Each stretch but the last has twice as many positions as the one before. A stretch has at most two ranges.
    /// - Parameters:
    ///   - end: the end of the list.
    ///   - now: the time of the run.
    ///   - period: the time in which every page is checked once.
    ///   - first: the number of positions of the first stretch.
    static func stretches(end: Int, now: Timestamp, period: Duration, first: Int) -> [[Range<Int>]] {
        let cycle = cycle(period)
        let pointer = cycle > 0 ? pointer(now, end, cycle) : end
        var stretches: [[Range<Int>]] = []
        var (taken, length) = (0, max(first, 1))
        while taken < end {
            let count = min(length, end - taken)
            let upper = pointer > taken ? pointer - taken : pointer - taken + end
            let lower = upper - count
            stretches.append(lower >= 0 ? [lower..<upper] : [0..<upper, end + lower..<end])
            taken += count
            length = min(2 * length, end)
        }
        return stretches
    }

    /// Returns those of the pages that begin in `range` and are due for a check. Page one is left out, because every
    /// run that checks pages has requested it.
    /// - Parameters:
    ///   - pages: the held pages.
    ///   - range: the positions.
    ///   - end: the end of the list.
    ///   - period: the time in which every page is checked once.
    ///   - now: the time of the run.
    static func due(
        _ pages: [PageSummary], in range: Range<Int>, end: Int, period: Duration, now: Timestamp
    ) -> [PageSummary] {
        pages.filter {
            $0.offset > 0 && $0.count > 0 && range.contains($0.offset)
                && (passing($0.offset, end, period, now) - $0.validatedAt) * 4 >= period
        }
    }

    /// Returns the beginning of the round that can end now. A round begins when the round before it ends. It ends when
    /// every page has been checked since it began. Returns nil while the pointer has not passed every position since
    /// then.
    /// - Parameters:
    ///   - last: the end of the last round or sweep. `nil` means that none has ended. The first round then begins a
    ///     quarter of a period after the registration, because no page is due before that. A time in the future was set
    ///     under another clock setting, and counts as `nil`.
    ///   - registered: the time when the list was registered.
    ///   - now: the time of the run.
    ///   - period: the time in which every page is checked once.
    static func round(after last: Timestamp?, registered: Timestamp, now: Timestamp, period: Duration) -> Timestamp? {
        let began = last.flatMap { $0 <= now ? $0 : nil } ?? registered + period / 4
        return (now - began).wholeMilliseconds >= cycle(period) ? began : nil
    }

    /// Returns the next positions that the pointer will pass, up to the end of the list. Their pages were checked
    /// longest ago.
    /// - Parameters:
    ///   - end: the end of the list.
    ///   - now: the time of the run.
    ///   - period: the time in which every page is checked once.
    ///   - count: the number of positions. A value below 1 counts as 1.
    static func ahead(end: Int, now: Timestamp, period: Duration, count: Int) -> Range<Int> {
        let cycle = cycle(period)
        let pointer = cycle > 0 ? min(pointer(now, end, cycle), end) : 0
        return pointer..<min(pointer + max(count, 1), end)
    }

    /// Whether every page with items was checked since `began`.
    static func isChecked(_ pages: [PageSummary], since began: Timestamp) -> Bool {
        pages.allSatisfy { $0.count == 0 || $0.validatedAt >= began }
    }

    private static func cycle(_ period: Duration) -> Int64 { period.wholeMilliseconds / 4 * 3 }

    /// Returns how far the pointer is in its cycle, in milliseconds.
    private static func phase(_ time: Timestamp, _ cycle: Int64) -> Int64 {
        ((time.milliseconds % cycle) + cycle) % cycle
    }

    /// Returns the position of the pointer. It has passed all positions before this one.
    private static func pointer(_ time: Timestamp, _ end: Int, _ cycle: Int64) -> Int {
        Int(Double(phase(time, cycle)) / Double(cycle) * Double(end))
    }

    /// Returns the last time, up to `now`, at which the pointer has passed a position.
    private static func passing(_ position: Int, _ end: Int, _ period: Duration, _ now: Timestamp) -> Timestamp {
        let cycle = cycle(period)
        guard cycle > 0 else { return now }
        let passes = Int64(Double(position + 1) / Double(end) * Double(cycle))
        let since = phase(now, cycle) - passes
        return now + .milliseconds(since < 0 ? -since - cycle : -since)
    }
}
