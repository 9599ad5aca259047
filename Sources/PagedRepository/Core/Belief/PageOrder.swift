/// Whether the origin puts the items of a page in another order in each answer.
///
/// Such an origin cuts the same page from its list each time, and the order within the page is meaningless. An item
/// that is requested again at another position then arrives anywhere in the answer, so it proves no seam (R21). Only
/// pages that are cut at the same positions can be compared.
struct PageOrder: Equatable {
    /// The number of consecutive answers for page one that prove it. Each has the items of the answer before in another
    /// order. A single such answer can come from an item that moved within page one.
    private static let mostOrders = 2

    /// How often an answer for page one had the items of the answer before, in another order.
    private var orders = 0

    /// Whether the order within a page is meaningless.
    var isArbitrary: Bool { orders >= PageOrder.mostOrders }

    /// Records the keys of an answer for page one, and those of the answer before it or of the stored page one. If the
    /// items differ, the list is changing, and the count begins again.
    /// - Returns: whether this answer completes the proof.
    mutating func observe(_ keys: [UInt64], after before: [UInt64]) -> Bool {
        guard !isArbitrary, keys != before, !before.isEmpty else { return false }
        let isSame = keys.count == before.count && Set(keys) == Set(before)
        orders = isSame ? orders + 1 : 0
        return isArbitrary
    }
}

extension ListBelief {
    /// The way in which pages are requested by position. Where the order within a page is meaningless, pages are cut at
    /// the same positions each time, and none overlaps.
    func placing(_ source: PagingAccess) -> PagingAccess {
        pageOrder.isArbitrary && source == .offsets && sizes.isSure && sizes.size > 1
            ? .grid(size: sizes.size) : source
    }
}
