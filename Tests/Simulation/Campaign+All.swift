public import PagedRepositoryTesting

extension Campaign {
    /// The number of lives below which a campaign does not exercise every rule.
    private static let fewestToMeetAll: UInt64 = 1_000

    /// Runs one mode of one subject. The report's failures include the rules that the lives hardly exercised, because
    /// such lives prove little. The two modes run different seeds.
    public static func run(
        _ subject: Simulation.Subject, _ mode: Simulation.Mode, seeds: UInt64
    ) async throws -> Report {
        let first = mode == .safety ? 0 : seeds
        var report = try await Campaign(seeds: first..<first + seeds, subject: subject).run(mode)
        guard seeds * (subject == .engine ? 4 : 1) >= fewestToMeetAll else { return report }
        for rule in rules(of: subject, mode) where report.hits[rule, default: 0] < Int(seeds) / 500 + 1 {
            report.failures.append("\(subject.rawValue), \(mode.rawValue): the lives met \(rule) too rarely")
        }
        return report
    }

    /// Runs lives of a kind that reaches its expected outcome (`OriginExpectation`).
    public static func run(_ kind: OriginKind, seeds: UInt64) async throws -> Report {
        try await Campaign(seeds: 0..<seeds, kinds: .only(kind)).run(.liveness)
    }

    /// Runs one life that failed once, and returns its violations.
    public static func run(_ life: Life) async throws -> [String] {
        try await Campaign(seeds: 0..<0).live(life.simulation).violations
    }

    /// Runs everything that must succeed, and prints a line for each part.
    ///
    /// - Parameter seeds: The number of lives of runs in each mode. Engines and kinds run a share of that number.
    /// - Returns: The failures.
    public static func all(seeds: UInt64) async throws -> [String] {
        var failures: [String] = []
        func note(_ what: String, _ report: Report) {
            failures += report.failures
            Swift.print("\(what): \(report.lives) lives, \(report.failures.count) failures")
        }
        for mode in Simulation.Mode.allCases {
            note("runs, \(mode.rawValue)", try await run(.runs, mode, seeds: seeds))
            note("engine, \(mode.rawValue)", try await run(.engine, mode, seeds: engines(seeds)))
        }
        for kind in provenKinds { note("kind \(kind.rawValue)", try await run(kind, seeds: ofEachKind(seeds))) }
        for life in kept + fixed { failures += try await run(life).map { "\(life): \($0)" } }
        failures += try await Economy.findings()
        return failures
    }

    /// Returns the number of lives of engines that go with a number of lives of runs.
    public static func engines(_ seeds: UInt64) -> UInt64 { max(seeds * 3 / 10, 50) }

    /// Returns the number of lives of each kind that go with a number of lives of runs.
    public static func ofEachKind(_ seeds: UInt64) -> UInt64 { max(seeds / 10, 10) }
}
