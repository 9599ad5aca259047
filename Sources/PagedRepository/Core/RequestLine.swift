import PageModel

/// The requests that wait for the budget, in order of arrival.
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

    /// The number of waiting requests.
    var count: Int { line.count }
    var inFlight: Int { budget.inFlight }

    /// The first request in line. `nil` while the line is empty or the maximum number of requests is in flight.
    var next: Ticket? { budget.isFull ? nil : line.first }

    /// Adds a request at the end of the line, even if the budget has room, so that no request is overtaken.
    mutating func join() -> Ticket {
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        line.append(ticket)
        return ticket
    }

    /// Asks whether a request may be sent now. Returns `full` if the request is not the first in line, or if the
    /// maximum number of requests is in flight. A request that may be sent leaves the line.
    mutating func ask(_ ticket: Ticket, now: Timestamp, hasWaited: Bool = false) -> RequestBudget.Admission {
        guard ticket == next else { return .full }
        let admission = budget.ask(now: now, hasWaited: hasWaited)
        if admission == .go { line.removeFirst() }
        return admission
    }

    /// Removes a request from the line.
    mutating func leave(_ ticket: Ticket) { line.removeAll { $0 == ticket } }

    mutating func ended() { budget.ended() }

    mutating func quiet(for pause: Duration, now: Timestamp) { budget.quiet(for: pause, now: now) }
}
