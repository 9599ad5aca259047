import PageModel
import PagedRepository
import StorageSupport

extension EngineSimulation {
    /// Checks that background work leaves an unreachable origin alone after a restart, as it did before (R32). All
    /// processes stop first.
    func restarted(_ life: inout Life, _ source: DarkSource) async throws -> [String] {
        let world = life.world
        for process in life.processes { life.kill(process) }
        let pause = EngineOptions().circuitPause
        // Leases of the killed processes end, and page one goes stale.
        try await world.clock.sleep(for: .seconds(200))
        source.cutOff()
        defer { source.reconnect() }
        let first = life.begin()
        first.work(life.engineOptions)
        var last: LedgerEntry?
        for _ in 0..<200 {
            try await world.clock.sleep(for: .seconds(1))
            last = try await world.headFailure
            if let last, last.attempts >= 5, last.nextAttemptAt != nil { break }
        }
        // A permanent failure, or a list that another life has left without page one, starts no background work.
        guard let last, last.attempts >= 5, last.nextAttemptAt != nil, last.failure?.isTransport == true,
            let failedAt = last.lastAttemptAt
        else { return [] }
        life.kill(first)
        let (before, end) = (source.requests, failedAt + pause)
        life.begin().work(life.engineOptions)
        life.hit("R32 restarted")
        while try await world.storageTime < end + .seconds(-1) { try await world.clock.sleep(for: .milliseconds(500)) }
        let count = source.requests - before
        return count == 0 ? [] : ["R32: \(count) requests to an unreachable origin after a restart, within \(pause)"]
    }
}

extension SimulatedProcess.World {
    /// The failure of page one, if there is one.
    fileprivate var headFailure: LedgerEntry? {
        get async throws {
            guard let record = try await storage.query(key), let list = try await storage.outline(of: record.id) else {
                return nil
            }
            return list.failures.first { $0.offset == 0 }
        }
    }

    /// The storage's time.
    fileprivate var storageTime: Timestamp {
        get async throws { try await storage.due(within: .zero, limit: 1).readAt }
    }
}
