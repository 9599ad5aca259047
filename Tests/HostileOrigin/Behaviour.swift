import Synchronization

/// The answers for a path: the steps for each request. The connection stays open after the last step.
public struct Behaviour: Sendable {
    let steps: @Sendable (HostileRequest) -> [Step]

    /// - Parameter steps: Returns the steps for a request. It is called once per request, in order of arrival.
    public init(_ steps: @escaping @Sendable (HostileRequest) -> [Step]) { self.steps = steps }

    /// Runs these steps for every request. HEAD is refused with 405, because it would not fit the script.
    public static func script(_ steps: Step...) -> Behaviour { script(steps) }

    /// Runs these steps for every request. HEAD is refused with 405.
    public static func script(_ steps: [Step]) -> Behaviour {
        Behaviour { $0.method == "HEAD" ? RawAnswer.status(405).steps(to: $0) : steps }
    }

    /// Sends this answer to every request.
    public static func answer(_ answer: RawAnswer) -> Behaviour { Behaviour { answer.steps(to: $0) } }

    /// Sends an answer that depends on the request.
    public static func answers(_ answer: @escaping @Sendable (HostileRequest) -> RawAnswer) -> Behaviour {
        Behaviour { answer($0).steps(to: $0) }
    }

    /// Uses one behaviour for the requests that `isMeant` selects, and another for the rest.
    public static func either(
        _ isMeant: @escaping @Sendable (HostileRequest) -> Bool, _ one: Behaviour, or other: Behaviour
    ) -> Behaviour {
        Behaviour { (isMeant($0) ? one : other).steps($0) }
    }

    /// Uses one behaviour per request, in order, and repeats the last one. HEAD does not count.
    public static func inTurn(_ behaviours: Behaviour...) -> Behaviour {
        let asked = Turns()
        return Behaviour { request in
            let turn = request.method == "HEAD" ? asked.now : asked.next()
            return behaviours[min(turn, behaviours.count - 1)].steps(request)
        }
    }
}

/// State: the number of turns so far, under a mutex.
private final class Turns: Sendable {
    private let count = Mutex(0)

    var now: Int { count.withLock { $0 } }

    func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
