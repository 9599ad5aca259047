public import PagedRepositoryTesting

extension Campaign {
    /// Returns the rules that a campaign must exercise to prove anything.
    public static func rules(of subject: Simulation.Subject, _ mode: Simulation.Mode) -> [String] {
        switch subject {
        case .runs: ofRuns
        case .engine: ofEngine + (mode == .liveness ? ["R32 restarted"] : [])
        }
    }

    private static let ofRuns = [
        "R16 confirmed", "R17 the head explains it", "R18 bisected", "R19 replaced", "R20 requested once more",
        "R20 a total corrected", "R21 drift seen while loading", "R22 spliced", "R23 swept", "R24 the end found",
        "R25 repeated ids noticed", "R31 resumed", "R22 a cursor rejected", "R4 two at once",
        "R4 two at once without leases",
        "R4 superseded", "R30 lease taken over", "R30 lease lost", "R1 stored together", "R4 refused together",
        "R30 leased with a commit", "R31 killed", "origin.insert", "origin.delete", "origin.move", "origin.edit",
        "origin.resort",
        "origin.replaceAll", "origin.append", "origin.fault.transport", "origin.fault.timeout", "origin.fault.429",
        "origin.fault.500", "origin.fault.503", "origin.cursorExpired", "origin.emptyAnswer", "origin.emptyMinute",
        "origin.shortPage", "origin.304", "origin.304.totalChanged", "origin.pastEnd", "origin.clamped",
        "origin.sizeIgnored",
        "origin.lag", "origin.capped", "origin.estimated", "origin.zero", "origin.tooLow", "origin.tooHigh",
    ]

    private static let ofEngine = [
        "C24 pages announced", "R29 clocks set", "R30 slept", "R30 lease taken over", "R52 clocks an hour apart",
        "R30 graceful shutdown", "R30 short leases", "R31 killed", "R35 end reached", "R35 joined",
        "R36 superseded",
        "R37 first failed", "R37 refresh failed", "R37 next failed", "R38 ends announced", "R38 resets announced",
        "R39 snapshots", "R40 evicted",
        "R41 purged elsewhere", "G6 calm", "origin.insert", "origin.delete", "origin.fault.transport",
        "origin.fault.429", "origin.fault.503",
    ]

    /// A life that once revealed a bug, and which shows the bug better than a separate test.
    public struct Life: Hashable, Sendable {
        public var subject: Simulation.Subject
        public var mode: Simulation.Mode
        public var seed: UInt64
        public var kind = OriginKind.ordinary
        /// See `Simulation.isStrict`.
        public var isStrict = false

        /// The simulation of this life.
        public var simulation: Simulation {
            var simulation = Simulation(seed: seed, mode: mode, subject: subject, kind: kind)
            simulation.isStrict = isStrict
            return simulation
        }
    }

    public static let kept = [
        // A deletion and an insertion left the total, and so the tag of page one, unchanged (R16).
        Life(subject: .runs, mode: .liveness, seed: 19_572),
        // A short page and an empty page with a total of 0 at the same position (R20).
        Life(subject: .runs, mode: .liveness, seed: 13_991),
        Life(subject: .runs, mode: .liveness, seed: 5_147),
        // Two engines that each restarted the other's sweep.
        Life(subject: .engine, mode: .liveness, seed: 1_023),
        // An engine that continued a sweep that another had finished, and so restarted it.
        Life(subject: .engine, mode: .liveness, seed: 5_898),
        // An empty page at held positions of a list without a usable total was fetched again and again (R20).
        Life(subject: .engine, mode: .liveness, seed: 6_776),
        // A clock set back by less than an hour delayed the retry of a page (R29).
        Life(subject: .engine, mode: .liveness, seed: 16_009),
        // A total already known to be wrong was doubted each time, so that a position in doubt was not fetched again
        // (R20).
        Life(subject: .engine, mode: .liveness, seed: 1_201),
        // A total that the origin corrected during the load was taken for a wrong total (R20).
        Life(subject: .runs, mode: .liveness, seed: 1_856),
        // Totals that followed the changes of the list were taken for unsteady totals (R25).
        Life(subject: .runs, mode: .liveness, seed: 1_846),
        // A failure at a held position was due forever.
        Life(subject: .engine, mode: .safety, seed: 42),
    ]
}
