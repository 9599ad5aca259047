/// The gates that the runs at one origin share, for origins without a gate of their own.
///
/// Owned by the engine's task.
struct OriginGates {
    private var gates: [String: OriginGate] = [:]

    mutating func gate(of origin: SyncEngine.Origin, for engine: SyncEngine) -> OriginGate {
        if let gate = origin.gate ?? gates[origin.name] { return gate }
        let options = engine.options
        let gate = OriginGate(
            concurrency: options.requestsPerOrigin, requestsPerSecond: options.requestsPerSecond, clock: engine.clock)
        gates[origin.name] = gate
        return gate
    }
}
