import PageModel

/// Who asks the budget next: first come, first served.
///
/// ```
/// join ──▶ in line ──go──▶ in flight ──ended──▶ gone
///             └────────── leave ──────────────────▲
/// ```
struct RequestLine: Equatable {
    /// A place in the line.
    struct Ticket: Hashable {
        fileprivate let number: Int
    }

    private var budget: RequestBudget
    private var line: [Ticket] = []
    private var lastNumber = 0

    init(_ limits: RequestBudget.Limits) { budget = RequestBudget(limits) }

    /// How many wait.
    var count: Int { line.count }
    var inFlight: Int { budget.inFlight }

    /// Whose turn it is to ask; nil while nobody could go, or nobody is there.
    var next: Ticket? { budget.isFull ? nil : line.first }

    /// Behind all others, even if there is room: nobody is overtaken.
    mutating func join() -> Ticket {
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        line.append(ticket)
        return ticket
    }

    /// Full, too, for everybody but the first. Who goes leaves the line.
    mutating func ask(_ ticket: Ticket, now: Timestamp, hasWaited: Bool = false) -> RequestBudget.Verdict {
        guard ticket == next else { return .full }
        let verdict = budget.ask(now: now, hasWaited: hasWaited)
        if verdict == .go { line.removeFirst() }
        return verdict
    }

    /// Gives the place up.
    mutating func leave(_ ticket: Ticket) { line.removeAll { $0 == ticket } }

    mutating func ended() { budget.ended() }

    mutating func quiet(for pause: Duration, now: Timestamp) { budget.quiet(for: pause, now: now) }
}
