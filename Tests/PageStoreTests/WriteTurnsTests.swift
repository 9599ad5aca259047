import Foundation
import PageModel
import ProgramSupport
import StorageSupport
import Testing

@testable import PageStore

/// Processes that commit at the same time get the write lock in turn (Decision 0012).
@Suite("Turns at the write lock", .serialized)
struct WriteTurnsTests {
    private let folder = Folder()

    @Test("A turn ends after 20 ms, and doubles up to a second while another process stalls")
    func schedule() {
        var schedule = TurnSchedule()
        #expect(schedule.isOver(at: TurnSchedule.turn))
        schedule.begin(at: 1_000, after: 0)
        #expect(!schedule.isOver(at: 1_000 + TurnSchedule.turn - 1))
        #expect(schedule.isOver(at: 1_000 + TurnSchedule.turn))
        schedule.begin(at: 0, after: TurnSchedule.turn)
        #expect(!schedule.isOver(at: 2 * TurnSchedule.turn - 1))
        for _ in 0..<20 { schedule.begin(at: 0, after: TurnSchedule.turn) }
        #expect(!schedule.isOver(at: TurnSchedule.longest - 1))
        #expect(schedule.isOver(at: TurnSchedule.longest))
        schedule.begin(at: 0, after: TurnSchedule.turn - 1)
        #expect(schedule.isOver(at: TurnSchedule.turn))
    }

    @Test("A stalled process whose turn is next does not stop the commits of another one")
    func standingStill() async throws {
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        let query = try await store.register(QueryKey("list"))
        let next = WriteTurns(store: folder.realPath + "/store.sqlite")
        next.pause(attempt: 1)
        for page in 0..<300 {
            let plan = CommitPlan(
                query: query.id, version: query.version,
                edits: [.insertPage(PageWrite(offset: page, content: items(page..<page + 1), evidence: .inferred))])
            guard case .committed = try await store.commit(plan) else {
                Issue.record("the commit of page \(page) was refused")
                return
            }
        }
        next.end()
        await store.close()
    }

    @Test("A commit notices an id that another process has stored meanwhile (R5)")
    func idsOfOthers() async throws {
        let (one, other) = (
            try await SQLitePageStore.openForTest(at: folder.store),
            try await SQLitePageStore.openForTest(at: folder.store)
        )
        let query = try await one.register(QueryKey("list"))
        func put(_ names: Range<Int>, at offset: Int, by store: SQLitePageStore) async throws -> CommitOutcome {
            try await store.commit(
                CommitPlan(
                    query: query.id, version: query.version,
                    edits: [.insertPage(PageWrite(offset: offset, content: items(names), evidence: .verified))]))
        }
        #expect(try await put(0..<10, at: 0, by: one) == .committed(query.version))
        #expect(try await put(10..<20, at: 10, by: other) == .committed(query.version))
        #expect(try await put(15..<25, at: 20, by: one) == .duplicates([10..<20]))
        #expect(try await put(20..<30, at: 20, by: other) == .committed(query.version))
        #expect(try await put(30..<40, at: 30, by: one) == .committed(query.version))
        #expect(try await put(39..<49, at: 40, by: other) == .duplicates([30..<40]))
        await one.close()
        await other.close()
    }

    #if Tool
    @Test("Two processes that commit without a pause get similar numbers of commits")
    func fairness() async throws {
        await (try SQLitePageStore.openForTest(at: folder.store)).close()
        let worker = Program.built("StoreWorker")
        var programs: [Program] = []
        for list in ["a", "b"] {
            programs.append(try await Program(worker, ["rate", folder.realPath + "/store.sqlite", "5", list]))
        }
        var commits: [Int] = []
        for program in programs { commits.append(try await program.ended().json["commits"] as? Int ?? 0) }
        print("turns: \(commits)")
        let (few, many) = (commits.min() ?? 0, commits.max() ?? 0)
        #expect(few > 20 && many < 2 * few, "the shares differ too much: \(commits)")
    }
    #endif
}
