import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@Suite("Random programs of edits")
struct EditSimulation {
    /// Runs the same program on the storage and on a plain array of optional names. The two must agree after every
    /// step.
    @Test(
        "The storage agrees with a model array after any inserted pages, splices and truncations",
        arguments: StorageKind.allCases,
        Array(0..<UInt64(40)))
    func agreesWithModel(kind: StorageKind, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let bench = try await Bench(kind)
        var model: [String?] = []
        var fresh = 0
        func names(_ count: Int) -> [String] {
            fresh += count
            return (fresh - count..<fresh).map { "n\($0)" }
        }
        for step in 0..<40 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                // Puts a page at any position. The commit succeeds only where no item is held.
                let offset = Int.random(in: 0...model.count + 10, using: &random)
                let new = names(Int.random(in: 1...30, using: &random))
                let end = offset + new.count
                while model.count < end { model.append(nil) }
                let outcome = try await bench.put(offset, items(new))
                if model[offset..<end].allSatisfy({ $0 == nil }) {
                    #expect(outcome == .committed(try await bench.list.record.version))
                    model.replaceSubrange(offset..<end, with: new)
                } else {
                    guard case .duplicates = outcome else {
                        Issue.record("seed \(seed), step \(step): a page was stored over held items")
                        return
                    }
                }
            case 2, 3:
                let lower = Int.random(in: 0...model.count, using: &random)
                let upper = Int.random(in: lower...min(model.count, lower + 40), using: &random)
                let new = names(Int.random(in: 0...25, using: &random))
                let page = new.isEmpty ? nil : PageWrite(offset: lower, content: items(new), evidence: .inferred)
                try await bench.commit([.splice(lower..<upper, page)])
                model.replaceSubrange(lower..<upper, with: new)
            default:
                let position = Int.random(in: 0...model.count, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    try await bench.commit([.truncate(at: position)])
                    model.removeSubrange(position...)
                } else if let name = model.compactMap({ $0 }).randomElement(using: &random) {
                    // A known item cannot be stored twice.
                    let outcome = try await bench.put(model.count + 100, items([name]))
                    guard case .duplicates = outcome else {
                        Issue.record("seed \(seed), step \(step): \(name) was stored twice")
                        return
                    }
                }
            }
            let expected = Dictionary(
                uniqueKeysWithValues: model.enumerated().compactMap { index, name in name.map { (index, $0) } })
            let held = try await bench.held
            guard held == expected else {
                Issue.record("seed \(seed), step \(step): the store differs from the model")
                return
            }
            // The identity index agrees with the items.
            let names = Array(expected.values.shuffled(using: &random).prefix(5))
            let found = try await bench.store.locate(Set(names.map(ItemIdentity.key(ofID:))), in: bench.query)
            for name in names { #expect(expected[found[ItemIdentity.key(ofID: name)]?.position ?? -1] == name) }
        }
    }
}
