import Synchronization

/// A cache of the most recently used elements, limited by their total cost.
///
/// State: the elements with their costs, and a counter of uses. One mutex guards all of it.
final class BoundedCache<Key: Hashable & Sendable, Element: Sendable>: Sendable {
    private struct Entry {
        var element: Element
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

    /// - Parameter budget: the maximum total cost, in the unit of the costs that are given to `keep`.
    init(budget: Int) { self.budget = budget }

    /// Returns the cached elements in the order of `keys`, with nil for each key that is not cached.
    func elements(_ keys: [Key]) -> [Element?] {
        state.withLock { state in
            state.uses += 1
            return keys.map { BoundedCache.use($0, &state) }
        }
    }

    func element(_ key: Key) -> Element? {
        state.withLock { state in
            state.uses += 1
            return BoundedCache.use(key, &state)
        }
    }

    private static func use(_ key: Key, _ state: inout State) -> Element? {
        guard let index = state.entries.index(forKey: key) else { return nil }
        state.entries.values[index].usedAt = state.uses
        return state.entries.values[index].element
    }

    func keep(_ element: Element, _ key: Key, cost: Int) {
        guard cost <= budget else { return }
        state.withLock { state in
            state.uses += 1
            let known = state.entries.updateValue(Entry(element: element, cost: cost, usedAt: state.uses), forKey: key)
            state.cost += cost - (known?.cost ?? 0)
            if state.cost > budget { BoundedCache.evict(&state, to: budget * 3 / 4) }
        }
    }

    /// Evicts the least recently used elements until the cost is at most `target`. Callers free a quarter of the budget
    /// at a time, so that many insertions share one sort.
    private static func evict(_ state: inout State, to target: Int) {
        for (key, entry) in state.entries.sorted(by: { $0.value.usedAt < $1.value.usedAt }) {
            guard state.cost > target else { return }
            state.entries[key] = nil
            state.cost -= entry.cost
        }
    }
}
