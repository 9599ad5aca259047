import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@Suite("Ends that the origin does not show plainly (R24)")
struct OpenEndTests {
    private let clock = ManualClock()

    private func sync(
        _ bench: SyncBench, _ origin: UnusualEndOrigin, _ work: SyncOptions.Work = .everything
    ) async throws -> SyncReport {
        clock.advance(by: .seconds(60))
        return try await bench.sync(origin, clock) { $0.work = work }
    }

    // MARK: A cursor after the last item

    @Test(
        "Where the last page has a cursor to an empty page, the second sync removes deleted items and finds appended ones",
        arguments: [true, false])
    func trailingCursor(isCounted: Bool) async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<6), access: .chain) { state in
            state.hasTail = true
            if isCounted { state.total = { names, _ in .exact(names.count) } }
        }
        #expect(try await sync(bench, origin).outcome == .complete)
        origin.names.removeAll { ["i1", "i4", "i5"].contains($0) }
        for _ in 0..<2 { #expect(try await sync(bench, origin).outcome == .complete) }
        #expect(try await bench.held == origin.names)
        origin.names += ["new0", "new1", "new2", "new3"]
        for _ in 0..<2 { #expect(try await sync(bench, origin).outcome == .complete) }
        #expect(try await bench.held == origin.names)
    }

    @Test("A sync finds items that were deleted or appended on the last page, and an unchanged list costs 3 requests")
    func trailingCursorLastPage() async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<12), access: .chain) { $0.hasTail = true }
        _ = try await sync(bench, origin)
        let before = origin.requests
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(origin.requests - before == 3)
        origin.names.removeLast()
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
        origin.names.append("new")
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
        origin.names.remove(at: 5)
        _ = try await sync(bench, origin)
        let held = try await bench.held.compactMap(\.self)
        #expect(Set(held).isSuperset(of: origin.names), "an item that still exists was removed")
    }

    // MARK: Refused positions

    @Test(
        "A list that has shrunk by whole pages is complete, although the origin refuses positions behind its new end",
        arguments: [PageAnswer.notFound, .pastEnd], [PagingAccess.offsets, .grid(size: 3)])
    func shrunk(refusal: PageAnswer, access: PagingAccess) async throws {
        for (work, count) in [(SyncOptions.Work.everything, 3), (.everything, 6), (.sweep, 3)] {
            let bench = try await SyncBench(clock)
            let origin = UnusualEndOrigin(names(0..<18), access: access) { state in
                state.refusal = refusal
                state.total = { names, _ in .exact(names.count) }
            }
            _ = try await sync(bench, origin)
            origin.names.removeLast(count)
            #expect(try await sync(bench, origin, work).outcome == .complete)
            #expect(try await bench.held == origin.names)
        }
    }

    // MARK: The last page again

    /// Origins that answer positions after the end with the last page, or with the first one.
    private static let repeating: [(count: Int, isCounted: Bool, isFirst: Bool)] =
        [1, 2, 3, 9].flatMap { count in [(count, true, false), (count, true, true)] }
        + [(9, false, false), (9, false, true)]

    @Test("A sweep ends where the origin returns its last page, or its first one, again", arguments: repeating)
    func repeatedPage(count: Int, isCounted: Bool, isFirst: Bool) async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<count), access: .grid(size: min(3, count))) { state in
            if isCounted { state.total = { names, _ in .exact(names.count) } }
            state.size = min(3, count)
            state.clamp = { count, size in isFirst ? 0 : (count - 1) / size * size }
        }
        #expect(try await sync(bench, origin).outcome == .complete)
        let before = origin.requests
        let report = try await sync(bench, origin, .sweep)
        #expect(report.outcome == .complete && report.reconciliation == .swept, "\(report.warnings)")
        #expect(origin.requests - before <= count / 3 + (isCounted ? 3 : 8))
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test("A sweep that receives a page again because of an insert does not end there", arguments: [true, false])
    func insertedPage(isCounted: Bool) async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<12), access: .grid(size: 3)) { state in
            if isCounted { state.total = { names, _ in .exact(names.count) } }
        }
        _ = try await sync(bench, origin)
        origin.names.insert(contentsOf: ["new0", "new1", "new2"], at: 6)
        #expect(try await sync(bench, origin, .sweep).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    // MARK: Hidden items at the end

    @Test("With totals of the visible items, a list by page numbers is complete although its last items are hidden")
    func hiddenTail() async throws {
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<11), access: .grid(size: 3)) { state in
            state.hidden = Set(names(7..<11))
            state.total = { names, hidden in .exact(names.count - hidden.count) }
            state.saysMore = true
        }
        for _ in 0..<3 { #expect(try await sync(bench, origin).outcome == .complete) }
        #expect(try await bench.held == names(0..<7))
        let before = origin.requests
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(origin.requests - before == 1)
        origin.state.withLock { $0.hidden = Set(names(7..<9)) }
        for _ in 0..<2 { #expect(try await sync(bench, origin).outcome == .complete) }
        #expect(try await bench.held == origin.shown)
    }

    @Test("A refused next page behind an exact total that is reached is the end", arguments: [400, 404, 416, 422])
    func refusedBehindTotal(status: Int) async throws {
        let bench = try await SyncBench()
        let origin = UnusualEndOrigin(names(0..<9), access: .chain) { state in
            (state.hasTail, state.failure) = (true, status)
            state.total = { names, _ in .exact(names.count) }
        }
        for _ in 0..<2 {
            let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
            #expect(report.outcome == .complete, "\(report.warnings)")
            #expect(try await bench.held == origin.names)
        }
        #expect(try await bench.list?.failures == [])
    }
}
