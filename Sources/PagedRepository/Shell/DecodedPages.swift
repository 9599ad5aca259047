import PageModel
import Synchronization

/// A page in the form in which callers use it. Every snapshot that holds the page shares its values.
struct DecodedPage<Value: Sendable>: Sendable {
    /// The items that decode, in order.
    var values: [Value] = []
    /// Indices, in the page, of those that do not, ascending.
    var unusable: [Int] = []

    var count: Int { values.count + unusable.count }

    /// The values that stand one behind the other, and the index of the first of each such stretch.
    var stretches: [(index: Int, values: [Value])] {
        if unusable.isEmpty { return values.isEmpty ? [] : [(0, values)] }
        var stretches: [(index: Int, values: [Value])] = []
        var index = 0
        var taken = 0
        for end in unusable + [count] {
            if end > index { stretches.append((index, Array(values[taken..<taken + end - index]))) }
            taken += end - index
            index = end + 1
        }
        return stretches
    }
}

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
        var page: DecodedPage<Value>
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

    /// The pages that are known; nil for the others.
    func pages(_ keys: [Key]) -> [DecodedPage<Value>?] {
        state.withLock { state in
            state.uses += 1
            return keys.map { key in
                guard let index = state.entries.index(forKey: key) else { return nil }
                state.entries.values[index].usedAt = state.uses
                return state.entries.values[index].page
            }
        }
    }

    func keep(_ page: DecodedPage<Value>, _ key: Key, cost: Int) {
        guard cost <= budget else { return }
        state.withLock { state in
            state.uses += 1
            let known = state.entries.updateValue(Entry(page: page, cost: cost, usedAt: state.uses), forKey: key)
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
