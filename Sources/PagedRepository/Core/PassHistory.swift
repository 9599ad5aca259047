/// The state that a run keeps from one pass to the next, apart from its belief about the list.
struct PassHistory: Equatable {
    /// The number of passes that are over.
    var count = 0
    /// The number of consecutive passes without progress.
    private(set) var restarts = 0
    /// The number of consecutive passes that received no held item of a list that was held before.
    private var rewrites = 0
    /// The largest number of items held at the end of a pass, since the list was last replaced.
    private var mostHeld = 0
    /// Whether the list was held up to its end at the end of a pass, since it was last replaced.
    private var wasWhole = false
    /// Whether page one of a later pass had other items or another total than that of the pass before.
    var hasSeenChange = false
    /// Whether the run gave up because the list changed from pass to pass.
    var keptChanging = false
    /// Whether this run has checked the pages that were due (R54).
    var hasRechecked = false
    /// The sweep of this run, or of the earlier run whose sweep it continues.
    var sweep = SweepHistory()

    /// Records the end of a pass.
    /// - Parameters:
    ///   - isProgress: whether the pass has stored more items than any pass before.
    ///   - isRewrite: whether the list was held before the pass, and the pass received none of its items.
    mutating func ended(isProgress: Bool, isRewrite: Bool) {
        restarts = isProgress ? 0 : restarts + 1
        rewrites = isRewrite ? rewrites + 1 : 0
    }

    /// Whether another pass would prove nothing more. A single rewrite of the list can be a real change. If items have
    /// no ids and change with every answer, each pass rewrites the list.
    /// - Parameter most: the maximum number of consecutive passes without progress.
    func isOver(restarts most: Int) -> Bool { restarts > most || rewrites > 1 }

    /// Resets the counts of held items, because another list has replaced the list.
    mutating func replaced() { (mostHeld, wasWhole) = (0, false) }

    /// Whether a pass has stored more items than any pass before. Items that only moved or changed are not progress: an
    /// origin may return other content with every answer. After the list was held up to its end, more items are not
    /// progress either: an origin may add items with every answer.
    /// - Parameters:
    ///   - held: the number of held items.
    ///   - isWhole: whether they are held up to the end of the list.
    mutating func isProgress(held: Int, isWhole: Bool) -> Bool {
        defer {
            mostHeld = max(mostHeld, held)
            if isWhole { wasWhole = true }
        }
        return held > mostHeld && !wasWhole
    }
}

/// The state of the sweep of a list over several passes (R23, R31).
struct SweepHistory: Equatable {
    /// Whether this run has begun to sweep.
    var isBegun = false
    /// Whether the storage has recorded the progress of this sweep. If the record has disappeared later, another
    /// process has finished the sweep.
    var isRecorded = false
    /// How often the sweep found an unexpected list, by position.
    private var failures: [Int: Int] = [:]

    /// Records that the sweep found an unexpected list. Returns whether the sweep has to begin again: after two
    /// failures at one position.
    mutating func failed(at position: Int) -> Bool {
        failures[position, default: 0] += 1
        guard failures[position, default: 0] >= 2 else { return false }
        failures = [:]
        return true
    }
}
