import Synchronization

/// How a path is answered: for each request, what is done step by step. The connection stays open behind the last step.
public struct Behaviour: Sendable {
    let steps: @Sendable (HostileRequest) -> [Step]

    /// - Parameter steps: what to do with a request. Called once for each, in the order in which they come.
    public init(_ steps: @escaping @Sendable (HostileRequest) -> [Step]) { self.steps = steps }

    /// Whatever is asked, these steps. HEAD is not answered so, but refused: nothing here has to do with it.
    public static func script(_ steps: Step...) -> Behaviour { script(steps) }

    /// Whatever is asked, these steps; HEAD is refused.
    public static func script(_ steps: [Step]) -> Behaviour {
        Behaviour { $0.method == "HEAD" ? RawAnswer.status(405).steps(to: $0) : steps }
    }

    /// Whatever is asked, this answer.
    public static func answer(_ answer: RawAnswer) -> Behaviour { Behaviour { answer.steps(to: $0) } }

    /// An answer that depends on the request.
    public static func answers(_ answer: @escaping @Sendable (HostileRequest) -> RawAnswer) -> Behaviour {
        Behaviour { answer($0).steps(to: $0) }
    }

    /// One way for the requests that `isMeant` picks, another for the rest.
    public static func either(
        _ isMeant: @escaping @Sendable (HostileRequest) -> Bool, _ one: Behaviour, or other: Behaviour
    ) -> Behaviour {
        Behaviour { (isMeant($0) ? one : other).steps($0) }
    }

    /// The first request so, the second so, and from the last one on always the same. HEAD does not count.
    public static func inTurn(_ behaviours: Behaviour...) -> Behaviour {
        let asked = Turns()
        return Behaviour { request in
            let turn = request.method == "HEAD" ? asked.now : asked.next()
            return behaviours[min(turn, behaviours.count - 1)].steps(request)
        }
    }
}

/// State: how many turns there have been; under a mutex.
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
