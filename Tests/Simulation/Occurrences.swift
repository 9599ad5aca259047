import PagedRepositoryTesting

extension SimulatedOrigin {
    /// Whether any of these events has happened. A name that no event has ends the process, because a check that waits
    /// for it would never apply.
    func hasSeen(_ names: [String]) -> Bool {
        precondition(names.allSatisfy { SimulatedOrigin.ordinaryOccurrences.contains($0) }, "no such event: \(names)")
        let occurrences = self.occurrences
        return names.contains { occurrences[$0] != nil }
    }
}
