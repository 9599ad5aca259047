import PageModel

/// A source whose requests wait for their turn at a gate, and tell it when the origin wants quiet.
struct LimitedSource: RelayedSource {
    let gate: OriginGate
    let source: any PageSource

    init(_ source: any PageSource, gate: OriginGate) {
        self.source = source
        self.gate = gate
    }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        try await gate.enter()
        defer { gate.leave() }
        do {
            return try await source.fetch(request)
        } catch {
            // Told before the place is free: whoever takes it knows.
            if let pause = (error as? FetchFailure)?.retryAfter { gate.quiet(for: pause) }
            throw error
        }
    }
}
