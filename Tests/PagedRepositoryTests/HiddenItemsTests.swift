import Foundation
import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Origins that leave items out of pages in the middle of the list (R53).
@Suite("Hidden items")
struct HiddenItemsTests {
    private let clock = ManualClock()

    /// The items that the total of an origin counts.
    enum Count: CaseIterable {
        case all, shown, none
    }

    private func origin(_ access: PagingAccess, hiding hidden: Set<String>, _ count: Count) -> ListOrigin {
        let origin = ListOrigin(names(0..<60), access: access)
        origin.state.withLock { state in
            state.hidden = hidden
            switch count {
            case .all: break
            case .shown: state.total = { .exact($0 - hidden.count) }
            case .none: state.total = nil
            }
        }
        return origin
    }

    private func sync(
        _ bench: SyncBench, _ origin: ListOrigin, _ work: SyncOptions.Work = .everything
    ) async throws -> SyncReport { try await run(bench, origin, work) }

    private func run(
        _ bench: SyncBench, _ origin: any PageSource, _ work: SyncOptions.Work = .everything
    ) async throws -> SyncReport {
        try await bench.sync(origin, clock) { $0.work = work }
    }

    private static let cases: [(PagingAccess, Count)] = [.offsets, .grid(size: 10)].flatMap { access in
        Count.allCases.map { (access, $0) }
    }

    @Test(
        "Short pages in the middle end no list: every visible item is held, and the next sync takes a few requests",
        arguments: cases)
    func shortPages(access: PagingAccess, count: Count) async throws {
        let bench = try await SyncBench(clock)
        let hidden = Set(["i13", "i14", "i27", "i41", "i44", "i49"])
        let origin = origin(access, hiding: hidden, count)
        let report = try await sync(bench, origin)
        let shown = origin.names.filter { !hidden.contains($0) }
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(try await bench.held == shown)
        #expect(report.list?.record.end == shown.count && report.list?.gaps == [])
        #expect(report.hiddenItems == (count == .all ? hidden.count : 0))
        #expect(report.warnings.contains { $0.contains("leaves items out") })
        #expect(origin.requests.count <= 30)
        let before = origin.requests.count
        #expect(try await sync(bench, origin).outcome == .complete)
        // Without a total, the end is looked at: the last page and item, and two empty pages after them.
        #expect(origin.requests.count - before <= (count == .none ? 6 : 4))
    }

    @Test("An empty page in the middle ends no list whose total counts more", arguments: [Count.all, .shown])
    func emptyPage(count: Count) async throws {
        let bench = try await SyncBench(clock)
        let hidden = Set(names(20..<40))
        for access in [PagingAccess.offsets, .grid(size: 10)] {
            let origin = origin(access, hiding: hidden, count)
            #expect(try await sync(bench, origin).outcome == .complete)
            #expect(try await bench.held == names(0..<20) + names(40..<60))
        }
    }

    @Test(
        "A list of which the origin returns no item is complete only if the origin counts none",
        arguments: [Count.all, .none])
    func nothingVisible(count: Count) async throws {
        let bench = try await SyncBench(clock)
        let origin = origin(.offsets, hiding: Set(names(0..<60)), count)
        for _ in 0..<2 {
            let outcome = try await sync(bench, origin).outcome
            if count == .all { #expect(outcome == .unproven) } else { #expect(outcome == .complete) }
        }
    }

    @Test("Hiding and inserting more items later removes and adds exactly these", arguments: cases)
    func changes(access: PagingAccess, count: Count) async throws {
        let bench = try await SyncBench(clock)
        let origin = origin(access, hiding: Set(names(30..<33)), count)
        _ = try await sync(bench, origin)
        origin.state.withLock { state in
            state.names.insert("new", at: 0)
            state.hidden = Set(names(30..<33) + names(12..<14))
            if count == .shown { state.total = { .exact($0 - 5) } }
        }
        for work in [SyncOptions.Work.everything, .sweep] { _ = try await sync(bench, origin, work) }
        let hidden = origin.state.withLock(\.hidden)
        #expect(try await bench.held == origin.names.filter { !hidden.contains($0) })
    }

    @Test(
        "A plain sync finds an insert in the middle by the total alone, whether it counts hidden items or not",
        arguments: cases.filter { $0.1 != .none })
    func insertInTheMiddle(access: PagingAccess, count: Count) async throws {
        let bench = try await SyncBench(clock)
        let origin = origin(access, hiding: Set(names(30..<33)), count)
        _ = try await sync(bench, origin)
        origin.names.insert("new", at: 45)
        _ = try await sync(bench, origin)
        #expect(try await bench.held == origin.names.filter { !names(30..<33).contains($0) })
    }

    @Test("Once no item is hidden any more, a sweep makes pages requestable by position again", arguments: cases)
    func takenBack(access: PagingAccess, count: Count) async throws {
        let bench = try await SyncBench(clock)
        let origin = origin(access, hiding: Set(names(25..<28)), count)
        _ = try await sync(bench, origin)
        func hides() async throws -> Bool {
            let list = try await bench.store.query(bench.key)
            let outline = try await bench.store.outline(of: try #require(list).id)
            return outline?.heldPages.first?.cursorOut != nil
        }
        #expect(try await hides())
        origin.state.withLock { state in
            state.hidden = []
            if count == .shown { state.total = { .exact($0) } }
        }
        #expect(try await sync(bench, origin, .sweep).outcome == .complete)
        #expect(try await bench.held == origin.names)
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await !hides())
    }

    @Test("A page that is short once, because of a fault, does not make the origin one that hides items")
    func fault() async throws {
        for access in [PagingAccess.offsets, .grid(size: 10)] {
            let bench = try await SyncBench(clock)
            let origin = ListOrigin(names(0..<60), access: access)
            let faulty = EditedOrigin(origin) { number, _, page in
                if number == 3 { page.content = page.content.slice(0..<6) }
            }
            let report = try await run(bench, faulty)
            #expect(report.outcome == .complete)
            #expect(!report.warnings.contains { $0.contains("leaves items out") })
            #expect(try await bench.held == origin.names)
            #expect(try await bench.list?.heldPages.first?.cursorOut == nil)
        }
    }

    @Test(
        "An answer with the last received item alone is not an empty page, and a sweep removes nothing after it",
        arguments: Count.allCases)
    func lastItemAlone(count: Count) async throws {
        let bench = try await SyncBench(clock)
        let hidden = Set(names(3..<5) + names(20..<34))
        let origin = origin(.offsets, hiding: hidden, count)
        let shown = origin.names.filter { !hidden.contains($0) }
        for work in [SyncOptions.Work.everything, .sweep, .everything] {
            let report = try await sync(bench, origin, work)
            #expect(report.outcome == .complete, "\(work) \(report.warnings)")
            #expect(try await bench.held == shown)
        }
    }

    @Test("Pages that are limited by their bytes are short, and no item is passed over", arguments: [Count.all, .none])
    func pagesByBytes(count: Count) async throws {
        let bench = try await SyncBench(clock)
        let origin = origin(.offsets, hiding: [], count)
        let limited = EditedOrigin(origin) { _, request, page in
            if case .offset(let offset) = request.target, offset % 3 == 0, page.content.count > 7 {
                page.content = page.content.slice(0..<7)
            }
        }
        for work in [SyncOptions.Work.everything, .everything, .sweep] {
            let report = try await run(bench, limited, work)
            #expect(
                report.outcome == .complete, "\(work) \(report.warnings)")
            #expect(try await bench.held == origin.names)
        }
    }
}

/// An origin whose answers are changed by a function of the request and its number.
private final class EditedOrigin: PageSource {
    private let origin: ListOrigin
    private let edit: @Sendable (Int, PageRequest, inout FetchedPage) -> Void

    init(_ origin: ListOrigin, _ edit: @escaping @Sendable (Int, PageRequest, inout FetchedPage) -> Void) {
        self.origin = origin
        self.edit = edit
    }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard case .page(var page) = try await origin.fetch(request) else { return .pastEnd }
        edit(origin.requests.count, request, &page)
        return .page(page)
    }
}
