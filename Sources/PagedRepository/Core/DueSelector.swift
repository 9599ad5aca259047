/// Decides how many ledger entries a search for due pages reads. Pure logic, without I/O.
///
/// Pages that cannot be fetched now must not hide others that can. The search widens until it finds enough work, or
/// until all entries are read.
struct DueSelector {
    /// The number of entries to read, earliest first.
    private(set) var limit = 256
    private let enough: Int

    /// The maximum number of entries held in memory, however many wait for an unavailable origin.
    private static let most = 1 << 20

    /// - Parameter lists: the number of lists that can be worked on. At least 1.
    init(lists: Int) { enough = max(1, lists) }

    /// Returns whether the search must be repeated with the new `limit`.
    /// - Parameters:
    ///   - found: the number of entries found.
    ///   - ready: the number of lists with a page that can be fetched now.
    mutating func goesOn(found: Int, ready: Int) -> Bool {
        guard found >= limit, ready < enough, limit < DueSelector.most else { return false }
        limit *= 4
        return true
    }
}
