import PageModel

/// A source whose requests wait for their turn at a gate, and tell it when the origin wants quiet.
struct LimitedSource: PageSource {
    let gate: OriginGate
    private let source: any PageSource

    init(_ source: any PageSource, gate: OriginGate) {
        self.source = source
        self.gate = gate
    }

    var access: PagingAccess { source.access }
    var usage: SourceUsage { source.usage }
    var largestOverlap: Int? { source.largestOverlap }
    var probeSize: Int? { source.probeSize }
    func takeUp(_ list: QueryRecord) throws(FetchFailure) { try source.takeUp(list) }

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
