import PagedRepository

/// Prints the progress of a run as lines on standard error.
enum Progress {
    static func tell(_ event: SyncEvent) {
        switch event {
        case .opened(let held, let length):
            say(held == 0 ? "nothing is held yet" : "goes on with \(share(held, length))")
        case .stored(let range, let held, let length):
            // The page is in the store, so no later run requests it again.
            say("stored \(range.lowerBound)..<\(range.upperBound): \(share(held, length))")
        case .failed(let offset, let failure, let next):
            say("position \(offset) failed: \(failure.message); \(next == nil ? "abandoned" : "tried again soon")")
        case .warning(let text):
            say("warning: \(text)")
        case .reconciled, .notStored, .waiting, .acted:
            break
        }
    }

    /// Returns the number of held items, and the length of the list if it is known.
    private static func share(_ held: Int, _ length: Int?) -> String {
        length.map { "\(held) of \($0)" } ?? "\(held)"
    }
}
