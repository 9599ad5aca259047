import PageModel

/// A source whose requests wait for their turn at a gate. When the origin requests a pause, the source reports the
/// pause to the gate. A call that ignores its cancellation does not keep its place at the gate.
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
            // Reported before the request leaves the gate, so that the next request already waits for the pause.
            if let pause = (error as? FetchFailure)?.retryAfter { gate.quiet(for: pause) }
            throw error
        }
    }
}
