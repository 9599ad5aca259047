import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Chains without an exact total: only items show where new pages meet the cached ones, and only a request shows the end
/// (R22, R24).
@Suite("Chains that meet their cached items", .timeLimit(.minutes(5)))
struct ChainJoinTests {
    private let clock = ManualClock()

    private func sync(
        _ bench: SyncBench, _ origin: some PageSource, _ work: SyncOptions.Work = .everything
    ) async throws -> SyncReport {
        clock.advance(by: .seconds(60))
        return try await bench.sync(origin, clock) { $0.work = work }
    }

    /// Returns a chain of 40 items that is held as a whole.
    /// - Parameter countsPositions: whether its cursors name positions, and not items.
    private func held(_ countsPositions: Bool) async throws -> (bench: SyncBench, origin: ListOrigin) {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<40), access: .chain)
        origin.state.withLock { ($0.total, $0.countsPositions) = (nil, countsPositions) }
        #expect(try await sync(bench, origin).outcome == .complete)
        return (bench, origin)
    }

    @Test(
        "New items before the first one drop no cached item, whatever the cursors name",
        arguments: [1, 9, 10, 20, 25, 60], [true, false])
    func inserted(count: Int, countsPositions: Bool) async throws {
        let (bench, origin) = try await held(countsPositions)
        origin.names.insert(contentsOf: (0..<count).map { "new\($0)" }, at: 0)
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test(
        "New items behind a known first one leave a hole until a walk has met the cached ones",
        arguments: [true, false])
    func pinned(countsPositions: Bool) async throws {
        let (bench, origin) = try await held(countsPositions)
        origin.names.insert(contentsOf: (0..<20).map { "new\($0)" }, at: 1)
        #expect(try await sync(bench, origin, .refresh).outcome == .incomplete)
        let list = try #require(try await bench.list)
        #expect(!list.isComplete && list.coverage.headEnd == 10)
        #expect(Set(try await bench.held.compactMap(\.self)).isSuperset(of: names(0..<40)))
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test(
        "An item that moves up removes none of those that it passed", arguments: [10, 12, 19, 25, 39], [true, false])
    func movedUp(from place: Int, countsPositions: Bool) async throws {
        let (bench, origin) = try await held(countsPositions)
        origin.names.insert(origin.names.remove(at: place), at: 9)
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test("Deleted items are removed, however many they are", arguments: [1, 4, 8, 12, 25], [0, 3, 8])
    func deleted(count: Int, place: Int) async throws {
        let (bench, origin) = try await held(false)
        origin.names.removeSubrange(place..<place + count)
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test("A page one of new items only does not hide items that were appended (R24)")
    func appended() async throws {
        let (bench, origin) = try await held(false)
        origin.names = (0..<15).map { "new\($0)" } + origin.names + ["last"]
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test("A refresh that finds a larger exact total leaves the end of the chain open (R22)")
    func largerTotal() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<40), access: .chain)
        _ = try await sync(bench, origin)
        origin.names.append("last")
        #expect(try await sync(bench, origin, .refresh).outcome == .incomplete)
        #expect(try await bench.list?.isComplete == false)
        _ = try await sync(bench, origin, .next)
        #expect(try await bench.held == origin.names)
        #expect(try await bench.list?.isComplete == true)
    }

    @Test(
        "A 304 for page one does not hide items that were appended (R24)",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func notModified(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let rows = StagedOrigin(25, access: access, total: nil)
        let origin = MarkedOrigin(rows) { request, page in
            guard request.target == .first else { return }
            page.validator = Validator(request: "first", entityTag: "1", lastModified: nil, coversTotal: false)
        }
        #expect(try await sync(bench, origin).outcome == .complete)
        rows.rows += Row.list(100..<103)
        let before = origin.requests.count
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(origin.requests[before].validator != nil)
        #expect(try await bench.held == rows.rows.map(\.id))
    }
}
