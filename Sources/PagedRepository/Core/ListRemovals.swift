/// The removals of a list that were begun through one list object. Each removal sends its own event, so the object
/// sends none for the purge notices that arrive meanwhile.
struct ListRemovals {
    private var underWay = 0
    /// The number of the last removal.
    private var last = 0
    /// The numbers of the permanent removals that have begun since the last explicit `load`, without those that failed.
    private var forGood: Set<Int> = []

    /// Whether a call has loaded the list from the cache since the last permanent removal. Another call may have stored
    /// the list again.
    private(set) var isRead = false

    var areUnderWay: Bool { underWay > 0 }

    /// Whether the list shows no item, whatever is stored. A removal under way can fail, so its list is shown.
    var showsNothing: Bool { isForgotten && !areUnderWay && !isRead }

    /// Whether the list was removed permanently. Only `load` with a policy other than `cacheOnly` then loads it again.
    var isForgotten: Bool { !forGood.isEmpty }

    /// Begins a removal. `succeeded` or `failed` must follow.
    /// - Returns: the number of the removal.
    mutating func begin(forGood isForGood: Bool) -> Int {
        underWay += 1
        last += 1
        if isForGood {
            forGood.insert(last)
            isRead = false
        }
        return last
    }

    mutating func succeeded() { underWay -= 1 }

    /// Ends a removal that failed. A list that another removal has removed permanently stays forgotten.
    mutating func failed(_ removal: Int) {
        underWay -= 1
        forGood.remove(removal)
    }

    /// Records a `load` with the policy `cacheOnly`. A forgotten list then shows its stored items, and fetches nothing.
    mutating func read() { isRead = true }

    /// Records an explicit `load`, after which a forgotten list can be fetched again.
    mutating func loaded() { forGood = [] }
}
