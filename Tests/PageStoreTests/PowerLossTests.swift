import FaultVFS
import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore

/// Tests images of the disk as a power loss may leave it. Synced writes are complete. Of the other writes an arbitrary
/// part is present, torn or out of order. The short form tests 120 images, and `PAGECACHE_SOAK=1` tests 2,000.
@Suite("Power loss")
struct PowerLossTests {
    private static let images = Soak.isOn ? 2_000 : 120

    private enum Setting { case normal, full, unsafe }

    private struct Result {
        var bad = 0
        var commitsLost = 0
        var examples: [String] = []
    }

    @Test(
        "After a power loss the store is sound and holds whole pages up to some commit, and full durability keeps every acknowledged one"
    )
    func kept() async throws {
        let normal = try await run(.normal)
        let full = try await run(.full)
        print(
            "power loss: normal: \(PowerLossTests.images) images, \(normal.bad) bad, \(normal.commitsLost) lost acknowledged commits (allowed); full: \(full.bad) bad, \(full.commitsLost) lost"
        )
        #expect(normal.bad == 0, "\(normal.examples)")
        #expect(full.bad == 0, "\(full.examples)")
        #expect(full.commitsLost == 0)
    }

    @Test("Without syncs the same check fails (control)")
    func control() async throws {
        let result = try await run(.unsafe)
        print("power loss: never synced: \(PowerLossTests.images) images, \(result.bad) bad")
        #expect(result.bad > PowerLossTests.images / 10)
    }

    private func run(_ setting: Setting) async throws -> Result {
        let faulty = FaultyFolder()
        try await commitSixtyPages(faulty, setting)
        var random = SeededGenerator(seed: Soak.seed)
        var result = Result()
        for number in 0..<PowerLossTests.images {
            let prefix = Int.random(in: 0...fault_event_count(faulty.control), using: &random)
            let mode = Int32(1 + number % 3)
            let image = Folder()
            #expect(fault_write_image(faulty.control, prefix, random.next(), mode, image.path) == 0)
            let acknowledged = (0..<prefix).reduce(0) { most, index in
                let event = fault_event_at(faulty.control, index)
                return event.kind == FAULT_EVENT_MARKER ? max(most, Int(event.marker)) : most
            }
            do throws(StorageError) {
                let held = try await pageCount(in: image)
                if held < acknowledged { result.commitsLost += 1 }
            } catch {
                result.bad += 1
                result.examples.append(
                    "image \(number) after event \(prefix), mode \(mode): \(error.code) \(error.message)")
            }
        }
        return result
    }

    /// Commits each of sixty pages alone, with merges of the log in between. Each acknowledged commit leaves a mark.
    private func commitSixtyPages(_ faulty: FaultyFolder, _ setting: Setting) async throws {
        var options = faulty.options
        options.checkpointBytes = 40 * 4_096
        options.durability = setting == .full ? .full : .normal
        options.isUnsafe = setting == .unsafe
        let path = "\(faulty.folder.realPath)/store.sqlite"
        // The store exists before the power loss. The fault suite covers its creation.
        try await SQLitePageStore.openForTest(at: path, mode: .createIfMissing, options: options).close()
        #expect(fault_record(faulty.control, true) == 0)
        let store = try await SQLitePageStore.open(
            at: path, mode: .mustExist, options: options, clock: ManualClock(noon),
            stamps: SeededGenerator(seed: PowerLossTests.stampSeed))
        let query = try await store.register(QueryKey("list"), at: noon)
        for number in 0..<60 {
            let outcome = try await store.commit(
                CommitPlan(
                    query: query.id, version: query.version, edits: [.insertPage(PowerLossTests.page(number))],
                    ledger: [.succeeded(offset: number * 10)]))
            #expect(outcome == .committed(query.version))
            fault_mark(faulty.control, UInt64(number + 1))
        }
        await store.close()
        #expect(fault_record(faulty.control, false) == 0)
    }

    private static func page(_ number: Int) -> PageWrite {
        let content = PageContent(
            (0..<10).map { RawItem(payload: Array(repeating: UInt8(number), count: 900 + $0), id: "\(number)-\($0)") })
        return PageWrite(offset: number * 10, content: content, evidence: .inferred)
    }

    /// Returns the number of pages in the image. Throws when the image is not the result of a prefix of the commits.
    private func pageCount(in image: Folder) async throws(StorageError) -> Int {
        let store: SQLitePageStore
        do throws(StorageError) {
            store = try await SQLitePageStore.openForTest(at: image.store, mode: .mustExist)
        } catch {
            // The power loss came before the store was on the disk. Its creation was not acknowledged either.
            if error.code == .notFound { return 0 }
            throw error
        }
        let report = try await store.verify()
        guard report.isSound else { throw StorageError(.damaged, "\(report.findings)") }
        guard let query = try await store.query(QueryKey("list")), let list = try await store.outline(of: query.id),
            let window = try await store.window(of: query.id, 0..<600)
        else { return 0 }
        let pages = list.pages.count
        guard window.parts.map(\.content) == (0..<pages).map({ PowerLossTests.page($0).content }),
            list.ledger.map(\.offset) == (0..<pages).map({ $0 * 10 })
        else { throw StorageError(.damaged, "holes: \(list.pages.map(\.offset))") }
        // The journal describes exactly these commits (R48).
        let registered = ContentVersion(counter: 1, stamp: PowerLossTests.firstStamp)
        let loads = (0..<pages).map { [JournalChange.loaded($0 * 10..<$0 * 10 + 10)] }
        guard
            case .entries(let entries, _, false)? = try await store.changes(of: query.id, since: registered, limit: 600),
            entries.map(\.changes) == loads, list.contentVersion.counter == pages + 1
        else { throw StorageError(.damaged, "the journal is not that of \(pages) pages") }
        await store.close()
        return pages
    }

    private static let stampSeed: UInt64 = 5
    private static let firstStamp: UInt64 = {
        var stamps = SeededGenerator(seed: stampSeed)
        return stamps.next()
    }()
}
