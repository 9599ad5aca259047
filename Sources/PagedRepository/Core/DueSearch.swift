/// How far the ledger is looked through for pages that can be fetched now: pure.
///
/// Those that cannot be fetched now must not hide those that can: more is looked for until there is enough to do, or
/// nothing more.
struct DueSearch {
    /// How many are asked for, the soonest first.
    private(set) var limit = 256
    private let enough: Int

    /// However many wait for an origin that is away: no more than so many are held in memory.
    private static let most = 1 << 20

    /// - Parameter lists: how many lists there is room for. 1…
    init(lists: Int) { enough = max(1, lists) }

    /// Whether more has to be asked for, which `limit` says then.
    /// - Parameters:
    ///   - found: how many there were.
    ///   - ready: of how many lists some can be fetched now.
    mutating func goesOn(found: Int, ready: Int) -> Bool {
        guard found >= limit, ready < enough, limit < DueSearch.most else { return false }
        limit *= 4
        return true
    }
}
