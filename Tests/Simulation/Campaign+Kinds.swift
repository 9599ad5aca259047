import PagedRepositoryTesting

/// The results of a campaign for each kind of origin.
extension Campaign.Report {
    mutating func tally(_ simulation: Simulation, _ outcome: Simulation.Outcome) {
        var tally = kinds[simulation.plan.kind] ?? Tally()
        tally.lives += 1
        if let violation = outcome.violations.first {
            tally.failures += 1
            tally.first.append((simulation.seed, violation))
        }
        kinds[simulation.plan.kind] = tally
    }

    mutating func add(_ others: [OriginKind: Tally]) {
        kinds.merge(others) { one, other in
            Tally(
                lives: one.lives + other.lives, failures: one.failures + other.failures,
                first: (one.first + other.first).sorted { $0.seed < $1.seed })
        }
    }

    /// Returns a line for each kind with its lives and failures, and a line for each of its first failures.
    public func kindTable(seeds: Int = 3) -> String {
        OriginKind.allCases.compactMap { kind in
            guard let tally = kinds[kind] else { return nil }
            let first = tally.first.prefix(seeds).map { "\n    \($0.seed): \($0.violation.prefix(600))" }
            return "\(kind.rawValue) | \(tally.lives) lives | \(tally.failures) failures\(first.joined())"
        }.joined(separator: "\n")
    }

    /// Returns a line for each sort of violation, named by its first words, with the most frequent first.
    public func sortTable() -> String {
        var sorts: [String: (count: Int, seed: UInt64)] = [:]
        for (kind, tally) in kinds {
            for (seed, violation) in tally.first {
                let words = violation.split(separator: " ").prefix(7).map { word in
                    word.contains(where: \.isNumber) && !word.hasSuffix(":") ? "…" : String(word)
                }
                let sort = "\(kind.rawValue): \(words.joined(separator: " "))"
                sorts[sort] = ((sorts[sort]?.count ?? 0) + 1, min(sorts[sort]?.seed ?? seed, seed))
            }
        }
        return sorts.sorted { $0.value.count > $1.value.count }
            .map { "  \($0.value.count) \($0.key) (\($0.value.seed))" }.joined(separator: "\n")
    }
}
