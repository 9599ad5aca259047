/// Who waits for how a piece of work ends: any number of callers, each with a number, so that one can give up alone.
struct OutcomeWaiters {
    private var waiting: [Int: [Int: CheckedContinuation<LoadOutcome, any Error>]] = [:]
    private var last = 0

    /// A number that nobody has.
    mutating func number() -> Int {
        last += 1
        return last
    }

    mutating func add(_ continuation: CheckedContinuation<LoadOutcome, any Error>, _ number: Int, for ticket: Int) {
        waiting[ticket, default: [:]][number] = continuation
    }

    func areThere(for ticket: Int) -> Bool { waiting[ticket]?.isEmpty == false }

    /// False when that one has had its answer.
    mutating func giveUp(_ number: Int, _ ticket: Int) -> Bool {
        guard let waiter = waiting[ticket]?.removeValue(forKey: number) else { return false }
        waiter.resume(throwing: CancellationError())
        return true
    }

    mutating func answer(_ ticket: Int, _ result: Result<LoadOutcome, any Error>) {
        for waiter in (waiting.removeValue(forKey: ticket) ?? [:]).values { waiter.resume(with: result) }
    }
}
