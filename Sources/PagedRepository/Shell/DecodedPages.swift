import PageModel
import Synchronization

/// Pages in the form in which callers use them, as many as fit into a budget: decoding a page costs more than reading it.
///
/// A page is known by its list and the hash of everything in it, so what is found here is what is stored, wherever in the list
/// it has moved. State: the pages, and a clock of uses, under one mutex.
final class DecodedPages<Value: Sendable>: Sendable {
    struct Key: Hashable {
        var query: QueryID
        var fingerprint: UInt64
        var count: Int
    }

    private struct Entry {
        /// Nil where an item's bytes do not decode.
        var values: [Value?]
        var cost: Int
        var usedAt: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var cost = 0
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let budget: Int

    /// - Parameter budget: bytes of payloads whose values are kept.
    init(budget: Int) { self.budget = budget }

    func values(_ key: Key) -> [Value?]? {
        state.withLock { state in
            guard let values = state.entries[key]?.values else { return nil }
            state.uses += 1
            state.entries[key]?.usedAt = state.uses
            return values
        }
    }

    func keep(_ values: [Value?], _ key: Key, cost: Int) {
        guard cost <= budget else { return }
        state.withLock { state in
            state.uses += 1
            let known = state.entries.updateValue(Entry(values: values, cost: cost, usedAt: state.uses), forKey: key)
            state.cost += cost - (known?.cost ?? 0)
            if state.cost > budget { DecodedPages.evict(&state, to: budget * 3 / 4) }
        }
    }

    /// A quarter at a time, so that the sorting is paid for by many uses.
    private static func evict(_ state: inout State, to target: Int) {
        for (key, entry) in state.entries.sorted(by: { $0.value.usedAt < $1.value.usedAt }) {
            guard state.cost > target else { return }
            state.entries[key] = nil
            state.cost -= entry.cost
        }
    }
}
