import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// Runs a store on a file system that fails at its n-th call, for each n until the fault no longer fires. The short
/// form tests every third n. PAGECACHE_SOAK=1 tests every n.
@Suite("A failing file system")
struct FaultTests {
    @Test(
        "A failure of the file system is a typed error, loses no acknowledged step, and leaves the store usable",
        arguments: Fault.all)
    func everyCall(fault: Fault) async throws {
        let states = try await StepSequence.states()
        var call = Soak.isOn ? 1 : 1 + Int(Soak.seed) % 3
        var points = 0
        while true {
            let faulty = FaultyFolder()
            faulty.arm(fault, at: call)
            let sequence = StepSequence(faulty: faulty, states: states)
            let reached = await sequence.run(stopAtFailure: fault.isForEver)
            guard faulty.fired > 0 else { break }
            points += 1
            faulty.disarm()
            try await sequence.check(reached, "\(fault.testDescription), call \(call)")
            call += Soak.isOn ? 1 : 3
        }
        print("faults: \(fault.testDescription): \(points) points")
        // The steps may cause no truncation and no deletion. Each of the other faults must fire at least once.
        #expect(points > 0 || [FAULT_TRUNCATE, FAULT_DELETE].contains(fault.kind))
    }
}

@Suite("A full disk")
struct FullDiskTests {
    @Test("A store on a full disk serves its items and refuses writes, and purging everything empties the file")
    func purgeAll() async throws {
        let faulty = FaultyFolder()
        let path = "\(faulty.folder.realPath)/store.sqlite"
        let store = try await SQLitePageStore.openForTest(at: path, mode: .createIfMissing, options: faulty.options)
        let query = try await store.register(QueryKey("list"), at: noon)
        func put(_ offset: Int) async throws(StorageError) -> CommitOutcome {
            let page = PageWrite(offset: offset, content: items(offset..<offset + 50), evidence: .inferred)
            return try await store.commit(
                CommitPlan(query: query.id, version: query.version, edits: [.insertPage(page)]))
        }
        #expect(try await put(0) == .committed(query.version))
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        let error = await #expect(throws: StorageError.self) { try await put(50) }
        #expect(error?.code == .full)
        #expect(try await store.window(of: query.id, 0..<50)?.parts.count == 1)
        // A purge also needs to write.
        let refused = await #expect(throws: StorageError.self) { try await store.purge([query.id]) }
        #expect(refused?.code == .full)
        let size = try #require(try await store.summaries().first).bytes
        #expect(size > 0)
        #expect(try await store.purgeAll(at: noon) == PurgeReport(queries: 1, pages: 1, bytes: size))
        faulty.disarm()
        let anew = try await SQLitePageStore.openForTest(at: path, mode: .createIfMissing)
        #expect(try await anew.summaries().isEmpty)
        await anew.close()
    }

    /// This fault lets commits succeed and merges fail, because only merges sync a file.
    private static let noRoomToMerge = Fault(name: "no room to merge", kind: FAULT_SYNC, code: 13, isForEver: true)

    @Test("Purging everything repeats a merge that found no room, and keeps the store open")
    func roomAgain() async throws {
        let faulty = FaultyFolder()
        let store = try await faulty.open()
        _ = try await store.register(QueryKey("list"), at: noon)
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        let refusal = try await store.withWriter { session throws(StorageError) -> StorageError.Code? in
            do throws(StorageError) {
                _ = try session.merger.merge()
                return nil
            } catch {
                return error.code
            }
        }
        #expect(refusal == .full)
        faulty.disarm()
        let report = try await store.purgeAll(at: noon)
        #expect(report.queries == 1)
        #expect(!report.mayRemainInLog && !report.isDiskFull)
        _ = try await store.register(QueryKey("next"), at: noon)
        #expect(try await store.records().map(\.key) == [QueryKey("next")])
        await store.close()
        let again = try await faulty.open()
        #expect(try await again.records().map(\.key) == [QueryKey("next")])
        #expect(try await again.verify().isSound)
        await again.close()
    }

    /// Registers a list through a connection of its own, as another process does.
    private static func registerElsewhere(_ path: String) {
        do throws(StorageError) {
            let other = try Connection(path: path, fileSystem: "fault")
            try other.execute("PRAGMA synchronous = OFF")
            try RowChecksum.define(in: other)
            try other.transaction(.write) { () throws(StorageError) in
                _ = try QueryTable.register(QueryKey("late"), at: noon, in: other)
            }
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("Purging everything on a full disk keeps a list that another process registers after the deletion")
    func registeredMeanwhile() async throws {
        let faulty = FaultyFolder()
        let store = try await faulty.open()
        _ = try await store.register(QueryKey("list"), at: noon)
        let path = store.path
        try await store.withWriter { session throws(StorageError) in
            let merging = session.connection.logObserver
            var isRegistered = false
            session.connection.observeLog { pages in
                if !isRegistered {
                    isRegistered = true
                    FullDiskTests.registerElsewhere(path)
                }
                merging?(pages)
            }
        }
        faulty.arm(Self.noRoomToMerge, at: 1)
        let report = try await store.purgeAll(at: noon)
        #expect(report.queries == 1)
        #expect(report.mayRemainInLog && report.isDiskFull)
        let keys = try await store.read { reading throws(StorageError) in
            try QueryTable.all(in: reading.connection).map(\.key)
        }
        #expect(keys == [QueryKey("late")])
        faulty.disarm()
        await store.close()
    }

    @Test("Purging everything on a full disk throws when another store has the file open, and closes this store")
    func openElsewhere() async throws {
        let faulty = FaultyFolder()
        let store = try await faulty.open()
        let other = try await faulty.open()
        _ = try await store.register(QueryKey("list"), at: noon)
        faulty.arm(Self.noRoomToMerge, at: 1)
        #expect(await code { try await store.purgeAll(at: noon) } == .full)
        #expect(await code { try await store.records() } == .closed)
        faulty.disarm()
        #expect(try await other.records().isEmpty)
        #expect(try await other.verify().isSound)
        await other.close()
    }
}

/// A fixed sequence of steps on a store. Each step is one transaction.
private struct StepSequence {
    struct State: Equatable {
        var held: [Int: String]
        var ledger: [Int: FetchState]
        var isThere: Bool
    }

    let faulty: FaultyFolder
    let states: [State]

    static let stepCount = 10
    static let key = QueryKey("https://example.com/list")

    /// Returns the state after each step, recorded in a run without faults.
    static func states() async throws -> [State] {
        let sequence = StepSequence(faulty: FaultyFolder(), states: [])
        var states: [State] = [State(held: [:], ledger: [:], isThere: false)]
        let store = try await sequence.open()
        for step in 0..<stepCount {
            try await StepSequence.step(step, store)
            states.append(try await StepSequence.state(store))
        }
        await store.close()
        return states
    }

    private func open() async throws(StorageError) -> SQLitePageStore {
        try await SQLitePageStore.openForTest(
            at: "\(faulty.folder.realPath)/store.sqlite", mode: .createIfMissing, options: faulty.options)
    }

    /// Runs all steps. Stops at the first failure if `stopAtFailure` is true, and otherwise retries a failed step up to
    /// three times.
    /// - Returns: The number of acknowledged steps, and whether one more step may have taken effect.
    func run(stopAtFailure: Bool) async -> (acknowledged: Int, isOpenEnded: Bool) {
        var store: SQLitePageStore?
        var acknowledged = 0
        var failures = 0
        while acknowledged < StepSequence.stepCount {
            do throws(StorageError) {
                if store == nil { store = try await open() }
                guard let store else { break }
                // Checks whether the failed step took effect after all.
                if failures > 0, try await StepSequence.state(store) == states[acknowledged + 1],
                    states[acknowledged + 1] != states[acknowledged]
                {
                    acknowledged += 1
                    failures = 0
                    continue
                }
                try await StepSequence.step(acknowledged, store)
                acknowledged += 1
                failures = 0
            } catch {
                failures += 1
                if stopAtFailure || failures > 3 { break }
            }
        }
        await store?.close()
        return (acknowledged, failures > 0)
    }

    func check(_ reached: (acknowledged: Int, isOpenEnded: Bool), _ what: String) async throws {
        let store = try await SQLitePageStore.openForTest(at: faulty.folder.store, mode: .createIfMissing)
        let state = try await StepSequence.state(store)
        let possible = states[
            reached.acknowledged...min(reached.acknowledged + (reached.isOpenEnded ? 1 : 0), StepSequence.stepCount)]
        #expect(possible.contains(state), "\(what): after \(reached)")
        let report = try await store.verify()
        #expect(report.isSound, "\(what): \(report.findings)")
        await store.close()
    }

    private static func state(_ store: SQLitePageStore) async throws(StorageError) -> State {
        guard let query = try await store.query(key), let list = try await store.outline(of: query.id),
            let window = try await store.window(of: query.id, 0..<1_000)
        else { return State(held: [:], ledger: [:], isThere: false) }
        var held: [Int: String] = [:]
        for part in window.parts where part.isHeld {
            for index in 0..<part.content.count { held[part.offset + index] = part.content.ids[index] }
        }
        return State(
            held: held, ledger: Dictionary(uniqueKeysWithValues: list.ledger.map { ($0.offset, $0.state) }),
            isThere: true)
    }

    private static func step(_ number: Int, _ store: SQLitePageStore) async throws(StorageError) {
        let query = try await store.register(key, at: noon)
        func commit(_ edits: [ListEdit], _ ledger: [LedgerEdit] = []) async throws(StorageError) {
            _ = try await store.commit(
                CommitPlan(query: query.id, version: query.version, edits: edits, ledger: ledger))
        }
        switch number {
        case 0: try await commit([])
        case 1: try await commit([.insertPage(big(0..<60))], [.succeeded(offset: 0)])
        case 2: _ = try await store.claim([60], of: query.id, until: noon + .seconds(60), at: noon)
        case 3: try await commit([.insertPage(big(60..<120))], [.succeeded(offset: 60)])
        case 4:
            try await store.record(
                [.failed(offset: 120, failure: .status(503), nextAttemptIn: .zero)], for: query.id, at: noon)
        case 5:
            try await commit([
                .splice(0..<20, PageWrite(offset: 0, content: items(["a", "b", "c"]), evidence: .inferred))
            ])
        case 6: _ = try await store.evict(to: EvictionBudget(pagesPerQuery: 2), exempt: [], at: noon)
        case 7: _ = try await store.purge([query.id])
        case 8: try await commit([])
        case 9: try await commit([.insertPage(big(0..<30))])
        default: break
        }
    }

    /// Returns a page of large items, so that one page occupies several SQLite pages.
    private static func big(_ range: Range<Int>) -> PageWrite {
        let content = PageContent(
            range.map { RawItem(payload: Array(repeating: UInt8(truncatingIfNeeded: $0), count: 300), id: "i\($0)") })
        return PageWrite(offset: range.lowerBound, content: content, evidence: .inferred)
    }
}
