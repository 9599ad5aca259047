import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// An origin that answers positions wrongly in one way, with the requests that it received.
///
/// State: the number of requests, under a mutex. After 400 requests every request fails, so that an endless load ends.
private final class MisplacingOrigin: Sendable {
    enum Habit: CaseIterable {
        /// A position close to the end gives the last full page.
        case clamps
        /// A position is counted from the beginning again after the end.
        case wraps
        /// Each answer holds items in another order.
        case shuffles
    }

    private let count = Mutex(0)
    let habit: Habit
    let length: Int

    init(_ habit: Habit, _ length: Int = 65) {
        self.habit = habit
        self.length = length
    }

    var requests: Int { count.withLock { $0 } }

    func rows(_ offset: Int, _ size: Int) throws -> [Row] {
        let number = count.withLock { count in
            count += 1
            return count
        }
        guard number <= 400 else { throw FetchFailure(.rejected, "too many requests", isRetryable: false) }
        switch habit {
        case .clamps:
            let start = min(offset, max(0, length - size))
            return Row.list(start..<min(start + size, length))
        case .wraps:
            return (offset..<offset + min(size, length)).map { StagedOrigin.row($0 % length) }
        case .shuffles:
            var chance = SeededGenerator(seed: UInt64(number))
            return Array(Row.list(0..<length).shuffled(using: &chance).prefix(max(0, min(size, length - offset))))
        }
    }
}

@Suite("At the edge of an application: origins that answer positions wrongly", .timeLimit(.minutes(20)))
struct EdgeOriginTests {
    private let bench = BadInputBench()

    private func source(_ origin: MisplacingOrigin, total: Int?, hasIDs: Bool) -> ItemSource<Row> {
        var id: (@Sendable (Row) -> String)?
        if hasIDs { id = { row in row.id } }
        return ItemSource<Row>.offsets(pageSize: 20, id: id) { offset, size in
            ItemPage(items: try origin.rows(offset, size), total: total)
        }
    }

    @Test(
        "A list shows each item once and ends, although its origin returns the last or first page behind the end (R24)",
        arguments: [MisplacingOrigin.Habit.clamps, .wraps], [true, false])
    fileprivate func scrolled(habit: MisplacingOrigin.Habit, hasIDs: Bool) async throws {
        let origin = MisplacingOrigin(habit)
        let list = bench.list(source(origin, total: 65, hasIDs: hasIDs))
        try await list.load()
        for _ in 0..<30 where list.current.hasMore { _ = try await list.loadNext() }
        #expect(list.current.items.map(\.number) == Array(0..<65))
        #expect(list.current.total == .exact(65))
        #expect(list.current.isAtEnd && !list.current.allowsDuplicates)
        #expect(try await list.loadNext() == .endReached)
        #expect(origin.requests <= 8, "\(origin.requests)")
    }

    @Test(
        "A list without a total ends when it is scrolled, although its origin wraps or clamps positions (R24)",
        arguments: [MisplacingOrigin.Habit.clamps, .wraps], [60, 65])
    fileprivate func scrolledWithoutTotal(habit: MisplacingOrigin.Habit, length: Int) async throws {
        let origin = MisplacingOrigin(habit, length)
        let list = bench.list(source(origin, total: nil, hasIDs: true))
        try await list.load()
        for _ in 0..<30 where list.current.hasMore { _ = try await list.loadNext() }
        #expect(list.current.items.map(\.number) == Array(0..<length))
        #expect(list.current.isAtEnd)
        #expect(origin.requests <= 10, "\(origin.requests)")
    }

    @Test(
        "A list shorter than a page, which its origin repeats within each answer, ends or fails (R24)",
        arguments: [1, 7, 19], [true, false])
    func shorterThanPage(length: Int, hasIDs: Bool) async throws {
        let count = Mutex(0)
        var id: (@Sendable (Row) -> String)?
        if hasIDs { id = { row in row.id } }
        let source = ItemSource<Row>.offsets(pageSize: 20, id: id) { offset, size in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number <= 400 else { throw FetchFailure(.rejected, "too many requests", isRetryable: false) }
            return (offset..<offset + size).map { StagedOrigin.row($0 % length) }
        }
        let list = bench.list(source)
        _ = try? await list.load()
        for _ in 0..<60 where list.current.hasMore && list.current.failure == nil { _ = try? await list.loadNext() }
        #expect(!list.current.hasMore || list.current.failure?.failure.failureClass == .loop)
        #expect(count.withLock(\.self) <= 60, "\(count.withLock(\.self))")
    }

    @Test(
        "A load of the whole list ends at its last item, although its origin wraps or clamps positions (R24)",
        arguments: [MisplacingOrigin.Habit.clamps, .wraps], [true, false])
    fileprivate func whole(habit: MisplacingOrigin.Habit, hasIDs: Bool) async throws {
        let origin = MisplacingOrigin(habit)
        let list = bench.list(source(origin, total: 65, hasIDs: hasIDs)) { $0 = PagedListOptions() }
        try await list.loadAll()
        #expect(list.current.items.map(\.number) == Array(0..<65))
        #expect(list.current.total == .exact(65) && list.current.isAtEnd)
        #expect(origin.requests <= 12, "\(origin.requests)")
    }

    /// Checks that a list that has ended without a failure holds as many items as it says.
    private func expectNotSilentlyShort(
        _ list: PagedList<Row>, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let now = list.current
        #expect(
            now.failure != nil || now.hasMore || now.total.exactCount ?? now.items.count == now.items.count,
            "\(now.items.count) of \(now.total)", sourceLocation: sourceLocation)
    }

    @Test("A list in random order ends or fails, is not silently short, and shows no item twice", arguments: [65, nil])
    func random(total: Int?) async throws {
        let origin = MisplacingOrigin(.shuffles)
        let list = bench.list(source(origin, total: total, hasIDs: true))
        _ = try? await list.loadAll()
        let numbers = list.current.items.map(\.number)
        #expect(!numbers.isEmpty && Set(numbers).count == numbers.count)
        #expect(list.current.isAtEnd || list.current.failure != nil)
        expectNotSilentlyShort(list)
        #expect(origin.requests < 200, "\(origin.requests)")
        let scrolled = bench.repository(source(MisplacingOrigin(.shuffles), total: total, hasIDs: true)).list("other")
        try await scrolled.load()
        for _ in 0..<60 where scrolled.current.hasMore && scrolled.current.failure == nil {
            _ = try? await scrolled.loadNext()
        }
        #expect(!scrolled.current.hasMore || scrolled.current.failure != nil)
        expectNotSilentlyShort(scrolled)
    }

    @Test(
        "A load at an origin that clamps or wraps, and always reports more, shows each item once and fails as a loop (R24)",
        arguments: [MisplacingOrigin.Habit.clamps, .wraps], [65, nil])
    fileprivate func alwaysMore(habit: MisplacingOrigin.Habit, total: Int?) async throws {
        for (length, isScrolled) in [(60, false), (65, false), (60, true), (65, true)] {
            let origin = MisplacingOrigin(habit, length)
            let source = ItemSource<Row>.offsets(pageSize: 20) { offset, size in
                let rows = try origin.rows(offset, size)
                return ItemPage(items: rows, total: total.map { _ in length }, hasMore: rows.count == size)
            }
            let list = bench.repository(source).list(QueryKey("\(length) \(isScrolled)"))
            if isScrolled {
                try await list.load()
                for _ in 0..<30 where list.current.hasMore && list.current.failure == nil {
                    _ = try? await list.loadNext()
                }
            } else {
                _ = try? await list.loadAll()
            }
            #expect(list.current.items.map(\.number) == Array(0..<length), "\(length) \(isScrolled)")
            #expect(list.current.failure?.failure.failureClass == .loop)
            #expect(origin.requests <= 20, "\(origin.requests)")
        }
    }

    @Test(
        "A load of a list in random order that always reports more fails, and the list has more", arguments: [65, nil])
    func endlessRandom(total: Int?) async throws {
        let source = ItemSource<Row>.offsets(pageSize: 20) { [origin = MisplacingOrigin(.shuffles)] _, size in
            ItemPage(items: try origin.rows(0, size), total: total, hasMore: true)
        }
        let list = bench.list(source)
        await #expect(throws: ListFailure.self) { try await list.loadAll() }
        #expect(list.current.failure?.failure.message != "too many requests")
        #expect(list.current.hasMore)
    }

    @Test(
        "A list with repeated ids shows every item; the load may fail where each page has the ids of another (R25)",
        arguments: [true, false],
        [10, 12, 15, 20, 23])
    func repeatedIDs(hasTotal: Bool, ids: Int) async throws {
        for isScrolled in [false, true] {
            let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
                let rows = (min(offset, 200)..<min(200, offset + size)).map { Row(id: "\($0 * 7 % ids)", number: $0) }
                return ItemPage(items: rows, total: hasTotal ? 200 : nil)
            }
            let list = bench.repository(source).list(QueryKey("\(isScrolled)"))
            if isScrolled {
                try await list.load()
                for _ in 0..<60 where list.current.hasMore && list.current.failure == nil {
                    _ = try? await list.loadNext()
                }
            } else {
                _ = try? await list.loadAll()
            }
            let isWhole = list.current.items.map(\.number) == Array(0..<200)
            #expect(isWhole || list.current.failure != nil, "\(list.current.items.count)")
            // Where each page has the ids of an earlier page, the load may fail instead.
            if ids % 10 > 0 { #expect(isWhole, "\(list.current.items.count) \(isScrolled)") }
        }
    }
}
