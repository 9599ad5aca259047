import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

/// A list as a reader of the journal reconstructs it, from a first read and the entries since then.
private struct Replica {
    /// The value is `nil` for a held item that the reader has not read.
    var slots: [Int: RawItem?]
    /// Statements of entries that contradict the replica.
    var contradictions: [String] = []

    mutating func apply(_ entry: JournalEntry) {
        for change in entry.changes {
            switch change {
            case .loaded(let range):
                for position in range {
                    if slots[position] != nil { contradictions.append("\(position) was held before it was loaded") }
                    slots[position] = .some(nil)
                }
            case .dropped(let range): slots = slots.filter { !range.contains($0.key) }
            case .generationBegan: slots = [:]
            case .rearranged(let parts): apply(parts)
            }
        }
    }

    private mutating func apply(_ parts: JournalRearrangement) {
        for (position, item) in parts.deleted.map({ ($0.position, $0.item) })
            + parts.edited.map({ ($0.from, $0.before) })
        {
            guard let held = slots[position] else { contradictions.append("\(position) was not held"); continue }
            if let held, held != item { contradictions.append("\(position) held \(held), not \(item)") }
        }
        var moved: [Int: RawItem?] = [:]
        for move in parts.moved {
            guard let held = slots[move.from] else { contradictions.append("\(move.from) was not held"); continue }
            moved[move.to] = held
        }
        var next: [Int: RawItem?] = [:]
        for (position, item) in slots {
            if let new = parts.newPosition(of: position) { next[new] = item }
        }
        next.merge(moved) { _, item in item }
        for position in parts.inserted.map(\.position) + parts.edited.map(\.to) { next[position] = .some(nil) }
        slots = next
    }

    /// Returns whether the replica matches the list in all positions and known items.
    func isLike(_ list: [Int: RawItem]) -> Bool {
        Set(slots.keys) == Set(list.keys)
            && slots.allSatisfy { position, item in item == nil || item == list[position] }
    }
}

@Suite("Replaying the journal")
struct JournalReplayTests {
    private struct Moment {
        var version: ContentVersion
        var items: [Int: RawItem]
    }

    private static let lives: [UInt64] = Soak.isOn ? Array(0..<2_000) : Array(Soak.seed..<Soak.seed + 25)

    private func look(_ bench: Bench<any PageStorage>) async throws -> Moment {
        let window = try #require(try await bench.store.window(of: bench.query, 0..<1_000_000))
        var items: [Int: RawItem] = [:]
        for part in window.parts where part.isHeld {
            for (index, item) in part.content.items.enumerated() { items[part.offset + index] = item }
        }
        return Moment(version: window.contentVersion, items: items)
    }

    /// Replays the journal from every moment to the last one, a few entries at a time. Compares the replica at each
    /// moment on the way.
    private func replay(_ moments: [Moment], _ bench: Bench<any PageStorage>, _ words: String) async throws
        -> [JournalChange]
    {
        let later = Dictionary(moments.map { ($0.version, $0.items) }, uniquingKeysWith: { first, _ in first })
        var seen: [JournalChange] = []
        for (number, moment) in moments.enumerated() {
            var replica = Replica(slots: moment.items.mapValues { $0 })
            var version = moment.version
            while true {
                guard
                    case .entries(let entries, let reached, let hasMore)? = try await bench.store.changes(
                        of: bench.query, since: version, limit: 1 + number % 5)
                else {
                    Issue.record("\(words): the journal is truncated since \(version)")
                    return seen
                }
                for entry in entries {
                    replica.apply(entry)
                    if number == 0 { seen += entry.changes }
                    if let items = later[entry.version] {
                        #expect(
                            replica.isLike(items),
                            "\(words): from \(moment.version.counter) to \(entry.version.counter)")
                    }
                }
                version = reached
                guard hasMore else { break }
            }
            #expect(version == moments.last?.version, "\(words)")
            #expect(replica.contradictions == [], "\(words)")
            guard replica.contradictions.isEmpty else { return seen }
        }
        return seen
    }

    @Test(
        "Journal entries lead from every earlier list to each later one, after any commits and evictions",
        arguments: StorageKind.allCases, lives)
    func anything(kind: StorageKind, seed: UInt64) async throws {
        var plans = RandomPlans(seed: seed)
        let bench = try await Bench(kind)
        var tokens = TokenNames()
        var moments = [try await look(bench)]
        for _ in 0..<40 {
            let held = try #require(try await bench.store.window(of: bench.query, 0..<100_000))
            let action = plans.action(on: try await bench.list, held.parts.map { ($0.offset, $0.content) })
            _ = await RandomAnswer(of: action, by: bench.store, bench.query, &tokens)
            plans.granted = tokens.tokens.count
            moments.append(try await look(bench))
        }
        _ = try await replay(moments, bench, "seed \(seed)")
    }

    @Test(
        "The journal distinguishes deleted, inserted, moved and edited items, and keeps the previous bytes",
        arguments: StorageKind.allCases, lives)
    func edits(kind: StorageKind, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let bench = try await Bench(kind)
        var fresh = 0
        func new() -> RawItem {
            fresh += 1
            // Some items have no id. Their bytes identify them.
            return RawItem(payload: Array("{\(fresh)}".utf8), id: fresh % 9 == 0 ? nil : "n\(fresh)")
        }
        try await bench.put(0, PageContent((0..<60).map { _ in new() }))
        var moments = [try await look(bench)]
        for step in 0..<25 {
            let count = moments[step].items.count
            let lower = Int.random(in: 0...count, using: &random)
            let upper = Int.random(in: lower...min(count, lower + 30), using: &random)
            var items = (lower..<upper).compactMap { moments[step].items[$0] }
            for _ in 0..<Int.random(in: 0...3, using: &random) where !items.isEmpty {
                let index = Int.random(in: 0..<items.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: items.remove(at: index)
                case 1: items[index].payload += Array("!".utf8)
                default:
                    let item = items.remove(at: index)
                    items.insert(item, at: Int.random(in: 0...items.count, using: &random))
                }
            }
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                items.insert(new(), at: Int.random(in: 0...items.count, using: &random))
            }
            let page = items.isEmpty ? nil : PageWrite(offset: lower, content: PageContent(items), evidence: .inferred)
            try await bench.commit([.splice(lower..<upper, page)])
            moments.append(try await look(bench))
        }
        let seen = try await replay(moments, bench, "seed \(seed)")
        let parts = seen.compactMap { if case .rearranged(let parts) = $0 { parts } else { nil } }
        #expect(parts.contains { !$0.deleted.isEmpty } && parts.contains { !$0.inserted.isEmpty })
        #expect(parts.contains { !$0.edited.isEmpty } && parts.contains { !$0.moved.isEmpty })
    }
}
