import Counting
import Measuring
import PageModel
import PageStore
import SQLiteLimit
import SideBySide

/// A work whose costs are looked at: of pages of 50 items of 500 bytes.
enum Work: String, CaseIterable {
    case read
    case commit
    case refresh

    var text: String {
        switch self {
        case .read: "a steady warm raw read of a page"
        case .commit: "a page commit"
        case .refresh: "an unchanged refresh"
        }
    }

    typealias Round = (ours: () throws -> Void, limit: () -> Void)

    /// Rounds of it, with everything that is not the work done before.
    private func rounds(_ count: Int, _ stores: TwoStores) async throws -> [Round] {
        let material = Material()
        switch self {
        case .commit:
            let list = try await stores.register("committed")
            return (0..<count).map { stores.putting(material.prepared($0), at: $0 * 50, into: list) }
        case .refresh:
            let list = try await stores.fill("refreshed", pages: 50)
            return (0..<count).map { stores.confirming($0 % 50 * 50, of: list) }
        case .read:
            let list = try await stores.fill("read", pages: 50)
            let (reads, limit, out) = (stores.direct, stores.limit, Page())
            return (0..<count).map { number in
                let offset = number % 50 * 50
                return (
                    { try expect(try reads.page(at: offset, of: list.ours)?.content.count == 50) },
                    { precondition(limit_read_page(limit, list.limit, Int64(offset), &out.page) == 0) }
                )
            }
        }
    }

    /// How often memory is asked for, a round.
    func allocations(_ stores: TwoStores, rounds count: Int) async throws -> (ours: Double, limit: Double) {
        let rounds = try await rounds(2 * count, stores)
        for round in rounds.prefix(count) {
            try round.ours()
            round.limit()
        }
        let start = counting_allocations()
        for round in rounds.suffix(count) { try round.ours() }
        let middle = counting_allocations()
        for round in rounds.suffix(count) { round.limit() }
        let end = counting_allocations()
        return (Double(middle - start) / Double(count), Double(end - middle) / Double(count))
    }

    /// The rounds, and nothing else, in the region that a profiler looks at.
    func region(of who: String, _ stores: TwoStores, rounds count: Int) async throws {
        let rounds = try await rounds(2 * count, stores)
        for round in rounds.prefix(count) {
            try round.ours()
            round.limit()
        }
        let counted = Counted(rounds.suffix(count).map { round in who == "C" ? round.limit : round.ours })
        counting_region(
            { context in
                let counted = Unmanaged<Counted>.fromOpaque(context!).takeUnretainedValue()
                do { for round in counted.rounds { try round() } } catch { fatalError("\(error)") }
            }, Unmanaged.passUnretained(counted).toOpaque())
        withExtendedLifetime(counted) {}
    }
}

/// The buffer of the limit during a read.
private final class Page {
    var page = limit_page()

    deinit { limit_page_free(&page) }
}

private final class Counted {
    let rounds: [() throws -> Void]

    init(_ rounds: [() throws -> Void]) { self.rounds = rounds }
}
