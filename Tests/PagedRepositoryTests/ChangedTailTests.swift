import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// Without a total, only the items at the end of the list show a change behind page one.
@Suite("Changes behind page one in a list without a total (R21, R24)")
struct ChangedTailTests {
    private let clock = ManualClock()

    /// Page sizes and numbers of items: a last page that is full, and two that are not.
    private static let lists = [(size: 10, count: 40), (10, 36), (3, 13)]
    private static let accesses: [PagingAccess] = [.offsets, .chain]

    private func sync(_ bench: SyncBench, _ origin: UnusualEndOrigin, overlap: Int = 1) async throws -> SyncReport {
        clock.advance(by: .seconds(60))
        return try await bench.sync(origin, clock) { $0.overlap = overlap }
    }

    @Test("The next sync finds an item that was inserted between page one and the end", arguments: accesses, lists)
    func inserted(access: PagingAccess, list: (size: Int, count: Int)) async throws {
        for position in [list.size + 1, list.count / 2, list.count - 1] {
            for saysMore in [true, false] {
                let bench = try await SyncBench(clock)
                let origin = UnusualEndOrigin(names(0..<list.count), access: access) {
                    ($0.size, $0.saysMore) = (list.size, saysMore)
                }
                #expect(try await sync(bench, origin).outcome == .complete)
                origin.names.insert("new", at: position)
                #expect(try await sync(bench, origin).outcome == .complete)
                #expect(try await bench.held == origin.names, "inserted at \(position)")
                let before = origin.requests
                #expect(try await sync(bench, origin).outcome == .complete)
                #expect(origin.requests - before <= 2)
            }
        }
    }

    @Test(
        "Without overlaps, too, the next sync finds an insert and a deletion behind page one",
        arguments: lists + [(1, 9)])
    func withoutOverlap(list: (size: Int, count: Int)) async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<list.count), access: .offsets) { $0.size = list.size }
        _ = try await sync(bench, origin, overlap: 0)
        for isInsert in [true, false, false] {
            if isInsert {
                origin.names.insert("new", at: list.size + 1)
            } else {
                origin.names.remove(at: list.size + 2)
            }
            #expect(try await sync(bench, origin, overlap: 0).outcome == .complete)
            #expect(try await bench.held == origin.names, "insert: \(isInsert)")
            let before = origin.requests
            _ = try await sync(bench, origin, overlap: 0)
            #expect(origin.requests - before <= 3)
        }
    }

    @Test("A list whose origin repeats its last items behind the end costs four requests at most in each sync")
    func repeatedEnd() async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<36), access: .offsets) { state in
            state.size = 10
            state.clamp = { count, size in count - size }
        }
        _ = try await sync(bench, origin)
        for _ in 0..<2 {
            let before = origin.requests
            #expect(try await sync(bench, origin).outcome == .complete)
            #expect(origin.requests - before <= 4)
            #expect(try await bench.held == origin.names)
        }
    }

    @Test("An inclusive cursor, which returns the item before it again, does not count as a change")
    func inclusive() async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<36), access: .chain) { ($0.size, $0.repeated) = (10, 1) }
        let first = try await sync(bench, origin)
        #expect(first.outcome == .complete, "\(first.warnings)")
        let before = origin.requests
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(origin.requests - before == 2)
        for position in [12, 37] {
            origin.names.insert("new \(position)", at: position)
            #expect(try await sync(bench, origin).outcome == .complete)
            #expect(try await bench.held == origin.names)
        }
    }

    @Test("An item that the origin removes during the first load is not held, and does not count as hidden")
    func removedDuringLoad() async throws {
        for request in 2..<7 {
            let bench = try await SyncBench(clock)
            let origin = UnusualEndOrigin(names(0..<46), access: .offsets) { state in
                state.size = 10
                state.changes = [request: { $0.remove(at: 13) }]
            }
            for _ in 0..<2 {
                let report = try await sync(bench, origin)
                #expect(report.outcome == .complete && report.warnings == [], "\(request): \(report.warnings)")
            }
            #expect(try await bench.held == origin.names, "removed before request \(request + 1)")
            let before = origin.requests
            _ = try await sync(bench, origin)
            #expect(origin.requests - before == 2)
        }
    }
}
