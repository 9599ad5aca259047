extension Duration {
    public var microseconds: Double { Double(components.seconds) * 1e6 + Double(components.attoseconds) / 1e12 }
    public var milliseconds: Double { microseconds / 1_000 }
}

extension [Double] {
    public var median: Double { percentile(0.5) }

    /// - Parameter share: 0…1; 0.95 is what all but five of a hundred are below. Not a number where there are none.
    public func percentile(_ share: Double) -> Double {
        let sorted = sorted()
        return sorted.isEmpty ? .nan : sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}
