/// The error of a load that ended without a result, because all of its callers were cancelled. A call that joined the
/// load later begins the load again.
struct CancelledWork: Error {}

/// The callers that wait for the end of work, by the ticket of the work. Each caller has a number, so that a single
/// caller can stop waiting.
struct OutcomeWaiters {
    private var waiting: [Int: [Int: CheckedContinuation<LoadOutcome, any Error>]] = [:]
    private var last = 0

    /// Returns a number that no other caller has.
    mutating func number() -> Int {
        last += 1
        return last
    }

    mutating func add(_ continuation: CheckedContinuation<LoadOutcome, any Error>, _ number: Int, for ticket: Int) {
        waiting[ticket, default: [:]][number] = continuation
    }

    func areThere(for ticket: Int) -> Bool { waiting[ticket]?.isEmpty == false }

    /// Ends the wait of one caller with a cancellation. Returns false when the caller has already received its result.
    mutating func cancel(_ number: Int, _ ticket: Int) -> Bool {
        guard let waiter = waiting[ticket]?.removeValue(forKey: number) else { return false }
        waiter.resume(throwing: CancellationError())
        return true
    }

    mutating func answer(_ ticket: Int, _ result: Result<LoadOutcome, any Error>) {
        for waiter in (waiting.removeValue(forKey: ticket) ?? [:]).values { waiter.resume(with: result) }
    }
}
