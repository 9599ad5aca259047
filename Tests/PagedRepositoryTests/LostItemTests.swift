import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PagedRepository

/// Items that a change moved past the position of a walk, or past a check of the end (R21, R22).
@Suite("Items that a change has moved past the requests")
struct LostItemTests {
    @Test("A deletion on page one during a walk without totals loses no item", arguments: 2..<7)
    func deletedDuringWalk(request: Int) async throws {
        let bench = try await SyncBench()
        let origin = PositionChain(75)
        origin.before.withLock { $0 = { number, names in if number == request { names.remove(at: 2) } } }
        #expect(try await bench.run(origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
        let before = origin.count
        #expect(try await bench.run(origin).outcome == .complete)
        #expect(origin.count - before <= 2)
    }

    @Test("A deletion on page one during a walk loses no item, although a 304 has confirmed page one (R16, R22)")
    func deletedAfterNotModified() async throws {
        let bench = try await SyncBench()
        let rows = StagedOrigin(40, access: .chain, total: nil)
        let origin = MarkedOrigin(rows) { request, page in
            if request.target == .first {
                let tag = page.content.ids.map { $0 ?? "" }.joined(separator: " ")
                page.validator = Validator(request: "first", entityTag: tag, lastModified: nil, coversTotal: false)
            }
            // The list changes after this answer.
            if request.target == .cursor(PageCursor("50")), rows.rows.count == 70 { rows.rows.remove(at: 2) }
        }
        _ = try await bench.run(origin)
        rows.rows += (100..<130).map { StagedOrigin.row($0) }
        #expect(try await bench.run(origin).outcome == .complete)
        #expect(rows.rows.count == 69)
        #expect(try await bench.held == rows.rows.map(\.id))
    }

    @Test("A walk without totals confirms page one with one request, and an insert repeats no walk")
    func confirmed() async throws {
        let bench = try await SyncBench()
        let origin = PositionChain(75)
        _ = try await bench.run(origin)
        #expect(origin.count == 9)
        origin.before.withLock { $0 = { number, names in if number == 12 { names.insert("new", at: 0) } } }
        let other = QueryKey("other")
        _ = try await ListSync(storage: bench.store, source: origin, key: other).run()
        #expect(origin.count <= 9 + 11)
    }

    @Test("An unseen deletion is found by the next check of the end (R24)")
    func append() async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin(names(0..<47))
        origin.state.withLock { $0.total = nil }
        _ = try await bench.run(origin)
        origin.names.insert(contentsOf: ["a", "b"], at: 0)
        _ = try await bench.run(origin)
        origin.names.remove(at: 24)
        _ = try await bench.run(origin)
        #expect(try await bench.held == origin.names)
        origin.names += ["y", "z"]
        #expect(try await bench.run(origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
    }
}

extension SyncBench {
    fileprivate func run(_ origin: some PageSource) async throws -> SyncReport {
        try await ListSync(storage: store, source: origin, key: key).run()
    }
}

/// A chain without totals whose cursors are positions.
private final class PositionChain: PageSource {
    private let list: Mutex<[String]>
    private let requests = Mutex(0)
    /// Runs before each answer with the number of the request.
    let before = Mutex<(@Sendable (Int, inout [String]) -> Void)?>(nil)

    init(_ count: Int) { list = Mutex(PagedRepositoryTests.names(0..<count)) }

    var names: [String] { list.withLock(\.self) }
    var count: Int { requests.withLock(\.self) }
    var access: PagingAccess { .chain }
    var usage: SourceUsage { SourceUsage(requests: count) }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let number = requests.withLock { count in
            count += 1
            return count
        }
        let change = before.withLock(\.self)
        return list.withLock { names in
            change?(number, &names)
            var start = 0
            if case .cursor(let cursor) = request.target { start = Int(cursor.text) ?? 0 }
            let range = min(start, names.count)..<min(start + 10, names.count)
            let next = range.upperBound < names.count ? PageCursor("\(range.upperBound)") : nil
            return .page(FetchedPage(content: named(names[range]), next: next))
        }
    }
}
