public import PagedRepositoryTesting

extension Campaign {
    /// What a campaign must have met to prove anything.
    public static func rules(of subject: Simulation.Subject) -> [String] {
        switch subject {
        case .runs: ofRuns
        case .engine: ofEngine
        }
    }

    private static let ofRuns = [
        "R16 confirmed", "R17 the head explains it", "R18 bisected", "R19 replaced", "R20 asked once more",
        "R20 a total corrected", "R21 drift seen while loading", "R22 spliced", "R23 swept", "R24 the end found",
        "R25 repeated ids noticed", "R31 resumed", "R22 a cursor rejected", "R4 two at once",
        "R4 two at once, and no lease",
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
        "C24 pages told", "R29 clocks set", "R30 slept", "R30 lease taken over", "R52 clocks an hour apart",
        "R30 graceful shutdown", "R31 killed", "R35 end reached", "R35 joined", "R36 superseded",
        "R37 first failed", "R37 refresh failed", "R37 next failed", "R38 ends told", "R38 resets told",
        "R39 snapshots", "R40 evicted",
        "R41 purged elsewhere", "G6 calm", "origin.insert", "origin.delete", "origin.fault.transport",
        "origin.fault.429", "origin.fault.503",
    ]

    /// Lives that have shown what was wrong, and whose kind no test of its own shows better.
    public struct Life: Hashable, Sendable {
        public var subject: Simulation.Subject
        public var mode: Simulation.Mode
        public var seed: UInt64
        public var kind = OriginKind.ordinary
        /// See `Simulation.isStrict`.
        public var isStrict = false

        /// What is lived.
        public var simulation: Simulation {
            var simulation = Simulation(seed: seed, mode: mode, subject: subject, kind: kind)
            simulation.isStrict = isStrict
            return simulation
        }
    }

    public static let kept = [
        // An item that was deleted and one that was added left the total, and so the tag of page one, as they had been
        // (R16).
        Life(subject: .runs, mode: .liveness, seed: 19_572),
        // A short page, and an empty one with a total of 0 at the same place (R20).
        Life(subject: .runs, mode: .liveness, seed: 13_991),
        Life(subject: .runs, mode: .liveness, seed: 5_147),
        // Two engines that each began the other's sweep anew.
        Life(subject: .engine, mode: .liveness, seed: 1_023),
        // One that went on with its sweep when another had come to the end, and so began it anew.
        Life(subject: .engine, mode: .liveness, seed: 5_898),
        // A page that answered nothing where something was held, in a list without a usable total: asked again and
        // again (R20).
        Life(subject: .engine, mode: .liveness, seed: 6_776),
        // A clock that was set back by less than an hour kept a page from its retry (R29).
        Life(subject: .engine, mode: .liveness, seed: 16_009),
        // A total that is known to be wrong was doubted each time, and kept a place in doubt from being asked again
        // (R20).
        Life(subject: .engine, mode: .liveness, seed: 1_201),
        // A total that an origin corrected while the list was loaded was taken for one that is wrong (R20).
        Life(subject: .runs, mode: .liveness, seed: 1_856),
        // Totals that followed the list's changes were taken for unsteady ones (R25).
        Life(subject: .runs, mode: .liveness, seed: 1_846),
        // A failure at a position that is held was due for ever.
        Life(subject: .engine, mode: .safety, seed: 42),
    ]
}
