import PageModel
import PagedRepositoryTesting

extension OriginExpectation {
    /// Returns how the held items differ from the expected ones. `nil` means no difference.
    func difference(_ held: [RawItem], _ origin: SimulatedOrigin) -> String? {
        let (held, shown) = (held.map(origin.canonical), origin.canonicalItems)
        let isRight =
            switch contents {
            case .equal: held == shown
            case .inAnyOrder: held.count == shown.count && Set(held) == Set(shown)
            case .first(let count): held == Array(shown.prefix(count))
            // An edited item may be held in its earlier version.
            case .some: Set(held.compactMap(\.id)).isSubset(of: shown.compactMap(\.id))
            }
        guard !isRight else { return nil }
        let missing = Set(shown.compactMap(\.id)).subtracting(held.compactMap(\.id)).sorted()
        let surplus = Set(held.compactMap(\.id)).subtracting(shown.compactMap(\.id)).sorted()
        let order = missing.isEmpty && surplus.isEmpty ? ", \(OriginExpectation.order(held, shown))" : ""
        return
            "\(held.count) held of \(shown.count), missing \(missing.prefix(5)), surplus \(surplus.prefix(5))\(order)"
    }

    /// Returns where two lists of the same items first differ.
    private static func order(_ held: [RawItem], _ shown: [RawItem]) -> String {
        guard let index = zip(held, shown).enumerated().first(where: { $0.element.0 != $0.element.1 })?.offset else {
            return "some twice"
        }
        let isEdit = held[index].id == shown[index].id
        return isEdit ? "not as edited at \(index)" : "in another order from \(index) on"
    }
}
