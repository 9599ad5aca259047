/// The removals of one list that a list object has begun. Each of them sends its own event, so the notice of a purge sends
/// none meanwhile.
struct ListRemovals {
    private var underWay = 0
    /// The number of the last removal.
    private var last = 0
    /// The removals for good that have begun since the last explicit `load`, without those that failed.
    private var forGood: Set<Int> = []

    var areUnderWay: Bool { underWay > 0 }

    /// Whether the list was removed for good, so that only `load` with a policy other than `cacheOnly` loads it again.
    var isForgotten: Bool { !forGood.isEmpty }

    /// Begins a removal. `succeeded` or `failed` must follow.
    /// - Returns: the number of the removal.
    mutating func begin(forGood isForGood: Bool) -> Int {
        underWay += 1
        last += 1
        if isForGood { forGood.insert(last) }
        return last
    }

    mutating func succeeded() { underWay -= 1 }

    /// Ends a removal that failed. A list that another removal has removed for good stays forgotten.
    mutating func failed(_ removal: Int) {
        underWay -= 1
        forGood.remove(removal)
    }

    /// Records an explicit `load`, which begins a forgotten list again.
    mutating func loaded() { forGood = [] }
}
