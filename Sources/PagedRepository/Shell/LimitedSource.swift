import PageModel

/// A source whose requests wait for their turn at a gate. It reports the pauses that the origin requests to the gate.
/// A call that ignores its cancellation leaves the gate, too.
struct LimitedSource: RelayedSource {
    let gate: OriginGate
    let source: any PageSource

    init(_ source: any PageSource, gate: OriginGate) {
        self.source = AbandonableSource.around(source)
        self.gate = gate
    }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        try await gate.enter()
        defer { gate.leave() }
        do {
            return try await source.fetch(request)
        } catch {
            // Reported before the place at the gate is free, so that the next request already waits.
            if let pause = (error as? FetchFailure)?.retryAfter { gate.quiet(for: pause) }
            throw error
        }
    }
}
