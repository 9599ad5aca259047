import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("A purge on a failing file system")
struct FaultyPurgeTests {
    /// Commits a list of one large item, whose bytes are all "x".
    private func commitLarge(to store: SQLitePageStore) async throws -> QueryID {
        let query = try await store.register(QueryKey("list"), at: noon).id
        let content = PageContent([RawItem(payload: [UInt8](repeating: UInt8(ascii: "x"), count: 20_000), id: "a")])
        let plan = CommitPlan(
            query: query, version: ListVersion(generation: 1, revision: 0),
            edits: [.insertPage(PageWrite(offset: 0, content: content, evidence: .inferred))])
        #expect(try await store.commit(plan) == .committed(plan.version))
        return query
    }

    @Test("The next commit finishes a purge that found no room for returning its space")
    func finishedByNextCommit() async throws {
        let faulty = FaultyFolder()
        let store = try await faulty.open()
        let query = try await commitLarge(to: store)
        try await store.withWriter { session throws(StorageError) in
            let merging = session.connection.logObserver
            var isFull = false
            session.connection.observeLog { pages in
                merging?(pages)
                if !isFull { faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1) }
                isFull = true
            }
        }
        let report = try await store.purge([query])
        #expect(report.mayRemainInLog && report.isDiskFull)
        faulty.disarm()
        _ = try await store.register(QueryKey("next"), at: noon)
        #expect(
            try await store.read { reading throws(StorageError) in try !UpkeepTable.hasLog(in: reading.connection) })
        await store.close()
    }

    @Test("With room for a log of 400 KB a purge removes a list of more bytes, and keeps the other list")
    func inPortions() async throws {
        let faulty = FaultyFolder()
        let store = try await faulty.open()
        let other = try await store.register(QueryKey("other"), at: noon)
        _ = try await store.commit(
            CommitPlan(
                query: other.id, version: other.version,
                edits: [.insertPage(PageWrite(offset: 0, content: items(0..<5), evidence: .inferred))]))
        let query = try await store.register(QueryKey("list"), at: noon).id
        for page in 0..<20 {
            let payload = [UInt8](repeating: UInt8(ascii: "x"), count: 60_000)
            let plan = CommitPlan(
                query: query, version: ListVersion(generation: 1, revision: 0),
                edits: [
                    .insertPage(
                        PageWrite(
                            offset: page, content: PageContent([RawItem(payload: payload, id: "\(page)")]),
                            evidence: .inferred))
                ])
            #expect(try await store.commit(plan) == .committed(plan.version))
        }
        try await store.withWriter { session throws(StorageError) in _ = try session.emptyLog(isUrgent: true) }
        fault_limit_log(faulty.control, 400_000)
        let report = try await store.purge([query])
        #expect((report.queries, report.pages) == (1, 20))
        #expect(report.bytes > 20 * 60_000)
        #expect(!report.mayRemainInLog && !report.isDiskFull)
        #expect(try await store.records().map(\.id) == [other.id])
        #expect(try await store.window(of: other.id, 0..<5)?.missing == [])
        #expect(try await store.verify().isSound)
        await store.close()
        let needle = Data(repeating: UInt8(ascii: "x"), count: 1_000)
        for name in faulty.folder.contents {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(faulty.folder.path)/\(name)"))
            #expect(bytes.range(of: needle) == nil, "\(name)")
        }
    }

    @Test("A purge that could not truncate the log reports bytes that remain in it")
    func untruncatedLog() async throws {
        let faulty = FaultyFolder()
        let store = try await faulty.open()
        let query = try await commitLarge(to: store)
        // The merge truncates the file first. The commit that begins the log anew truncates the log.
        faulty.arm(Fault(name: "no truncation", kind: FAULT_TRUNCATE, code: 1_546, isForEver: false), at: 2)
        let report = try await store.purge([query])
        #expect(faulty.fired == 1)
        let needle = Data(repeating: UInt8(ascii: "x"), count: 1_000)
        let holdsNeedle = try faulty.folder.contents.contains { name in
            try Data(contentsOf: URL(fileURLWithPath: "\(faulty.folder.path)/\(name)")).range(of: needle) != nil
        }
        #expect(report.mayRemainInLog || !holdsNeedle)
        faulty.disarm()
        await store.close()
    }
}
