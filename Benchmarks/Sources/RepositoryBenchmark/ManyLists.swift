import Foundation
import Measuring
import PageModel
import PageStore
import PagedRepository

/// Many lists open at once, each with a listener, against a loop that reads the same pages and keeps their values.
///
/// Filling the store, opening the lists and the loop run in a process each, because memory that was used once stays
/// in the peak.
enum ManyLists {
    /// The cost of opening the lists.
    struct Opening {
        var milliseconds: Double
        /// Bytes.
        var peak: Double
        /// The growth of resident memory after opening, in bytes.
        var growth: Double

        var text: String { "\(milliseconds) \(peak) \(growth)" }

        init(since start: ContinuousClock.Instant, until end: ContinuousClock.Instant, from before: Double) {
            milliseconds = (end - start).milliseconds
            peak = Machine.peakMemory
            growth = Machine.memory - before
        }

        init(text: String) throws {
            let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
            try expect(numbers.count == 3, "three numbers of the loop")
            (milliseconds, peak, growth) = (numbers[0], numbers[1], numbers[2])
        }
    }

    static func run<Value: BenchmarkItem>(_: Value.Type, count: Int) async throws {
        try await Scratch.with { directory in
            let path = directory + "/store.sqlite"
            let arguments = ["\(Value.bytes)", "\(count)", path]
            try await Child.run(["--fill"] + arguments)
            let loop = try Opening(text: try await Child.run(["--loop"] + arguments, isHeard: true))
            let ours = try await open(Value.self, count, path)
            Figure.title(
                "\(count) lists of 50 items × \(Value.bytes) B, a listener each. limit: a loop that keeps their values")
            // Of more than they hold, 200 MB are no target.
            let isTarget = count == 10_000 && Value.bytes < 200
            Figure("opened, until each listener has its items, ms", ours.milliseconds, limit: loop.milliseconds).print()
            Figure(
                "peak of resident memory, MB", ours.peak / 1e6, limit: loop.peak / 1e6,
                target: isTarget ? .atMost(200) : nil
            ).print()
            Figure(
                "resident memory a list, KB", ours.growth / Double(count) / 1e3,
                limit: loop.growth / Double(count) / 1e3
            ).print()
        }
    }

    private static func open<Value: BenchmarkItem>(_: Value.Type, _ count: Int, _ path: String) async throws -> Opening
    {
        let store = try await SQLitePageStore.open(at: path, mode: .mustExist)
        let repository = ListRepository(storage: store, codec: JSONItemCodec<Value>(), source: { _ in UnusedSource() })
        let open = Countdown()
        open.expect(count)
        let (before, start) = (Machine.memory, ContinuousClock.now)
        var lists: [PagedList<Value>] = []
        var listeners: [Task<Void, Never>] = []
        for number in 0..<count {
            let list = repository.list(StoredLists<Value>.key(number))
            let snapshots = list.snapshots
            lists.append(list)
            listeners.append(
                Task {
                    var isOpen = false
                    for await snapshot in snapshots where !isOpen && snapshot.items.count == Value.countPerPage {
                        isOpen = true
                        open.arrived()
                    }
                })
        }
        await open.all()
        let end = ContinuousClock.now
        try await Machine.settled()
        let opening = Opening(since: start, until: end, from: before)
        for listener in listeners { listener.cancel() }
        for listener in listeners { await listener.value }
        withExtendedLifetime(lists) {}
        await store.close()
        return opening
    }

    // MARK: Other processes

    /// BYTES COUNT PATH: makes the store.
    static func fill(_ words: [String]) async throws {
        let (bytes, count, path) = try parsed(words)
        if bytes == Label.bytes {
            await (try StoredLists<Label>(path: path, lists: count)).store.close()
        } else {
            await (try StoredLists<Product>(path: path, lists: count)).store.close()
        }
    }

    /// BYTES COUNT PATH: reads every list and keeps its values.
    static func loop(_ words: [String]) async throws {
        let (bytes, count, path) = try parsed(words)
        if bytes == Label.bytes {
            try await loop(Label.self, count, path)
        } else {
            try await loop(Product.self, count, path)
        }
    }

    private static func loop<Value: BenchmarkItem>(_: Value.Type, _ count: Int, _ path: String) async throws {
        let store = try await SQLitePageStore.open(at: path, mode: .mustExist)
        let (codec, reads) = (JSONItemCodec<Value>(), store.synchronously)
        let (before, start) = (Machine.memory, ContinuousClock.now)
        var kept: [[Value]] = []
        for number in 0..<count {
            guard let query = try reads.query(StoredLists<Value>.key(number)),
                let content = try reads.window(of: query.id, 0..<Value.countPerPage)?.parts.first?.content
            else { throw Unexpected("expected: list \(number)") }
            kept.append(try (0..<content.count).map { try codec.decode(content.payload(at: $0)) })
        }
        let opening = Opening(since: start, until: .now, from: before)
        withExtendedLifetime(kept) {}
        print(opening.text)
        await store.close()
    }

    private static func parsed(_ words: [String]) throws -> (bytes: Int, count: Int, path: String) {
        guard words.count == 3, let bytes = Int(words[0]), let count = Int(words[1]) else {
            throw Unexpected("expected: BYTES COUNT PATH")
        }
        return (bytes, count, words[2])
    }
}
