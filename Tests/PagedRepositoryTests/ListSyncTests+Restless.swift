import Foundation
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

// Lists that change while a run reads them.
extension ListSyncTests {
    @Test(
        "A run during which the list changes at its head ends complete, with the items of the origin", arguments: 2...5)
    func driftWhileReading(at request: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        origin.before { number, names in if number == request { names.insert("late", at: 0) } }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test(
        "Without totals, items inserted or removed at the head during a run leave no hole",
        arguments: [2, 3, 4, 5, 6], [-3, -1, 1, 3])
    func driftWithoutTotals(at request: Int, by change: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        origin.state.withLock { $0.total = nil }
        origin.before { number, names in
            guard number == request else { return }
            if change < 0 {
                names.removeFirst(-change)
            } else {
                names.insert(contentsOf: (0..<change).map { "n\($0)" }, at: 0)
            }
        }
        let report = try await sync(bench, origin) { $0.concurrency = 1 }
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test("A run gives up after a few tries on an origin that changes with every answer, and reports gaps")
    func restlessOrigin() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        // Page one never shows what has changed.
        origin.before { number, names in names.insert("n\(number)", at: names.count / 2) }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .unproven)
        #expect(!report.warnings.isEmpty)
        #expect(report.list.map { !$0.gaps.isEmpty } == true)
        let held = try await bench.held.compactMap { $0 }
        #expect(Set(held).count == held.count)
        #expect(origin.requests.count < 40)
    }

    @Test("Without totals and overlap, a changing origin leaves an incomplete list or inferred seams")
    func restlessWithoutTotals() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200))
        origin.state.withLock { $0.total = nil }
        origin.before { _, names in names.removeFirst() }
        let report = try await sync(bench, origin) { $0.concurrency = 1 }
        #expect(report.outcome == .incomplete || report.list?.inferredSeams ?? 0 > 0)
    }

    @Test("An item that moves to the unread part during a walk is removed from its old position (R22)")
    func movedWhileWalking() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: .chain)
        origin.before { number, names in
            if number == 4 { names.append(names.remove(at: 3)) }
        }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test("A load during inserts keeps the answers that showed the drift, and counts each answer once (R21)")
    func feed() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<300))
        origin.before { number, names in
            if number % 5 == 0 { names.insert("n\(number)", at: 0) }
        }
        let report = try await sync(bench, origin) { $0.concurrency = 4 }
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
        // A download without a cache takes 31 requests.
        #expect(origin.requests.count <= 31 * 3 / 2 + 4, "\(origin.requests.count) requests")
        #expect(report.pagesFetched + report.pagesUnchanged <= origin.requests.count, "\(report.pagesFetched)")
    }

    @Test(
        "A list that gains an item with each request is loaded with few more requests than a download takes",
        arguments: [PagingAccess.offsets, .grid(size: 20), .chain], [400, 95])
    func growing(access: PagingAccess, count: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<count), access: access, size: 20)
        origin.before { number, names in names.insert("n\(number)", at: 0) }
        let report = try await sync(bench, origin) { $0.concurrency = 1 }
        #expect(report.outcome == .complete, "\(report.warnings)")
        // The last request was the one for page one.
        #expect(try await bench.held == origin.names)
        // A download by cursor receives 20 items with each request, and one by position 19 new ones.
        let download = access == .chain ? (count + 19) / 20 : (count + 18) / 19
        #expect(origin.requests.count <= download * 3 / 2 + 1, "\(origin.requests.count) requests")
    }

    @Test("A wrong total in one answer leaves no evidence for a later change (R21)")
    func glitch() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60))
        // Request 3 counts one item more, from a list that never exists again.
        let glitch = Mutex(false)
        origin.state.withLock { state in
            state.total = { count in .exact(glitch.withLock { $0 } ? count + 1 : count) }
        }
        origin.before { number, names in
            glitch.withLock { $0 = number == 3 }
            if number == 3 { names.swapAt(40, 41) }
            if number == 4 { names.swapAt(40, 41) }
            if number == 6 { names.insert("new", at: 0) }
        }
        let report = try await sync(bench, origin) { $0.concurrency = 1 }
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test("A sweep with the largest number of concurrent fetches requests no more than the list has")
    func mostFetches() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin) { $0.concurrency = .max }
        let before = origin.requests.count
        let report = try await sync(bench, origin) {
            $0.concurrency = .max
            $0.work = .sweep
        }
        #expect(report.outcome == .complete && report.reconciliation == .swept)
        #expect(origin.requests.count - before <= 10)
    }

    /// Use `PAGECACHE_SEEDS=5000 swift test --filter simulation` for a longer simulation.
    private static let seeds = ProcessInfo.processInfo.environment["PAGECACHE_SEEDS"].flatMap { UInt64($0) } ?? 150

    /// Applies random changes to random lists between and during runs. No id is ever held twice. Once the origin is
    /// quiet and its total shows a change, the held list equals the origin's list.
    @Test(
        "Random origins with random changes never cause a duplicate or an unreported hole", .serialized,
        arguments: 0..<seeds)
    func simulation(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let bench = try await SyncBench(clock)
        let access: PagingAccess = [.offsets, .grid(size: 10), .chain].randomElement(using: &random)!
        let origin = ListOrigin(names(0..<Int.random(in: 0...120, using: &random)), access: access)
        let fresh = Mutex(0)
        @Sendable func mutate(_ names: inout [String], _ random: inout SeededGenerator) {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let number = fresh.withLock {
                    $0 += 1; return $0
                }
                let head = Bool.random(using: &random)
                names.insert("n\(number)", at: head ? 0 : Int.random(in: 0...names.count, using: &random))
            case 2 where !names.isEmpty: names.remove(at: Int.random(in: 0..<names.count, using: &random))
            case 3 where !names.isEmpty:
                names.insert(names.remove(at: Int.random(in: 0..<names.count, using: &random)), at: 0)
            default: break
            }
        }
        for _ in 0..<4 {
            let changeWhileReading = Int.random(in: 0..<3, using: &random) == 0
            let inner = Mutex(SeededGenerator(seed: random.next()))
            origin.before { _, names in
                let chance = inner.withLock { Int.random(in: 0..<12, using: &$0) }
                if chance == 0 { throw FetchFailure.status(503) }
                if chance < 3, changeWhileReading { inner.withLock { mutate(&names, &$0) } }
            }
            let pages = Int.random(in: 1...20, using: &random)
            _ = try await sync(bench, origin) { $0.maxPages = pages }
            let held = try await bench.held.compactMap { $0 }
            #expect(Set(held).count == held.count, "seed \(seed): an id is held twice")
            var names = origin.names
            for _ in 0..<Int.random(in: 0...3, using: &random) { mutate(&names, &random) }
            origin.names = names
        }
        // The origin is quiet from here on. A change of the total also exposes earlier changes that cancelled each
        // other.
        origin.before(nil)
        let number = fresh.withLock {
            $0 += 1; return $0
        }
        origin.names.append("last\(number)")
        origin.names.append("last\(number)b")
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete, "seed \(seed)")
        let held = try await bench.held
        if held != origin.names {
            // Only changes that cancel each other before the final run may stay hidden. The totals are then equal.
            #expect(
                held.count == origin.names.count,
                "seed \(seed), \(access): an unreported hole: \(Set(origin.names).subtracting(held.compactMap { $0 })), \(report)"
            )
        }
    }
}
