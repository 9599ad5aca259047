/// Positions that an origin has refused or answered. They show whether the origin accepts only multiples of the page
/// size (R21). A pure value.
struct PositionMultiples {
    /// The number of items of the last page one. `nil` before one was received.
    var pageSize: Int?
    private var refused: Set<Int> = []
    private var answered: Set<Int> = []

    init(pageSize: Int? = nil) { self.pageSize = pageSize }

    /// Records that the origin refused a position.
    mutating func observe(refusalOf position: Int) { refused.insert(position) }

    /// Records that the origin returned items from a position on.
    mutating func observe(itemsAt position: Int) { answered.insert(position) }

    /// The page size if the origin accepts only its multiples: it refused another position, answered a later multiple,
    /// and answered no position but multiples. `nil` in all other cases. A refusal alone may be the end of a result
    /// window.
    var size: Int? {
        guard let pageSize, pageSize > 1, answered.allSatisfy({ $0.isMultiple(of: pageSize) }),
            let first = refused.filter({ !$0.isMultiple(of: pageSize) }).min(),
            answered.contains(where: { $0 > first })
        else { return nil }
        return pageSize
    }
}
