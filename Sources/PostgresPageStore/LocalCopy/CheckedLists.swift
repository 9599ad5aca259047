#if PostgreSQL
import PageModel

/// A list in the version that the server last returned, with the page rows that were read in that version. The rows
/// name the bodies that a read needs, and the local copy holds the bodies.
struct CheckedList {
    var record: QueryRecord
    /// The change count before the read. `nil` means that changes may go uncounted, or that the list has to be read
    /// again.
    var changeCount: UInt64?
    var checkedAt: ContinuousClock.Instant
    /// The storage's time of the read.
    var readAt: Timestamp
    /// The known rows, ascending.
    fileprivate(set) var rows: [PageRow] = []
    /// The positions whose rows are all known.
    private var known = Coverage([Range<Int>]())

    init(_ record: QueryRecord, changeCount: UInt64?, at now: ContinuousClock.Instant, readAt: Timestamp) {
        (self.record, self.changeCount, checkedAt, self.readAt) = (record, changeCount, now, readAt)
    }

    /// Returns the rows of all pages that meet a range. Returns nil when some of them may not be known.
    func pages(_ range: Range<Int>) -> [PageRow]? {
        let segment = known.segments[..<CheckedList.first(in: known.segments) { $0.lowerBound > range.lowerBound }].last
        guard let segment, range.upperBound <= segment.upperBound else { return nil }
        let first = CheckedList.first(in: rows) {
            $0.summary.range.upperBound > range.lowerBound || $0.summary.offset >= range.lowerBound
        }
        return Array(rows[first...].prefix { $0.summary.offset < range.upperBound })
    }

    /// Adds the rows of all pages that meet a range.
    mutating func add(_ new: [PageRow], in range: Range<Int>) {
        guard let first = new.first?.summary, let last = new.last?.summary else { return known.add(range) }
        known.add(min(range.lowerBound, first.offset)..<max(range.upperBound, last.range.upperBound))
        let lower = CheckedList.first(in: rows) { $0.summary.offset >= first.offset }
        let upper = CheckedList.first(in: rows) { $0.summary.offset > last.offset }
        rows.replaceSubrange(lower..<upper, with: new)
    }

    /// Takes over the rows of an earlier read of the same version.
    fileprivate mutating func takeRows(of other: inout CheckedList) {
        swap(&rows, &other.rows)
        swap(&known, &other.known)
    }

    /// The index of the first element for which `isAtEnd` is true. `isAtEnd` has to be true for all elements after it,
    /// too.
    private static func first<Element>(in all: [Element], where isAtEnd: (Element) -> Bool) -> Int {
        var (lower, upper) = (0, all.count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if isAtEnd(all[middle]) { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }
}

/// The lists of a store that were read recently.
///
/// A version is its counter with its stamp (R51). After a crash of the server or a failover, another version can get
/// the same counter, with another stamp. Rows are therefore kept only if the stamp is equal, too.
struct CheckedLists {
    /// The longest time for which a version is trusted without another comparison, because a notice may be lost (R41).
    static let trust = Duration.seconds(5)
    private static let mostRows = 131_072
    private static let mostLists = 4_096

    private var lists: [QueryID: CheckedList] = [:]
    private var rowCount = 0
    /// The version that the last read of a list returned, and the time since which reads have returned it.
    private var seen: [QueryID: (version: ContentVersion, since: ContinuousClock.Instant)] = [:]

    /// Returns a list if its last comparison still counts and no notice of a change has arrived since. Returns nil if a
    /// request to the server is needed.
    /// - Parameters:
    ///   - changeCount: the change count now.
    ///   - trust: the time for which a comparison counts.
    func trusted(
        _ query: QueryID, changeCount: UInt64?, for trust: Duration, at now: ContinuousClock.Instant
    ) -> CheckedList? {
        guard let list = lists[query], let changeCount, list.changeCount == changeCount, now - list.checkedAt < trust
        else { return nil }
        return list
    }

    /// Notes a list that was just read.
    /// - Parameters:
    ///   - rows: the rows of all pages that meet `range`.
    ///   - range: the positions that were read.
    mutating func note(_ checked: CheckedList, rows: [PageRow], in range: Range<Int>) {
        let query = checked.record.id
        var list = checked
        // Another read that returned a newer version may have begun later and ended sooner. No later read may return an
        // older version than that one. A version is therefore trusted only once a second read has returned it.
        let isSettled =
            seen[query].map { $0.version == list.record.contentVersion && $0.since < list.checkedAt } ?? false
        if !isSettled { list.changeCount = nil }
        if var before = remove(query), before.record.contentVersion == checked.record.contentVersion {
            list.takeRows(of: &before)
        }
        list.add(rows, in: range)
        if rowCount + list.rows.count > CheckedLists.mostRows || lists.count >= CheckedLists.mostLists {
            let oldest = lists.sorted { $0.value.checkedAt < $1.value.checkedAt }.prefix(lists.count / 2 + 1)
            for (query, _) in oldest { _ = remove(query) }
        }
        rowCount += list.rows.count
        lists[query] = list
    }

    /// Notes the record that a read returned. If the known record of the list differs, the next read of the list sends
    /// a request.
    mutating func observe(_ record: QueryRecord, at now: ContinuousClock.Instant) {
        if seen[record.id]?.version != record.contentVersion {
            if seen.count >= CheckedLists.mostLists { seen = [:] }
            seen[record.id] = (record.contentVersion, now)
        }
        guard let list = lists[record.id], list.record != record else { return }
        lists[record.id]?.changeCount = nil
    }

    /// Removes a list from memory, and returns it.
    @discardableResult
    mutating func remove(_ query: QueryID) -> CheckedList? {
        let list = lists.removeValue(forKey: query)
        rowCount -= list?.rows.count ?? 0
        return list
    }
}
#endif
