import Foundation
import PageModel
import PageStore

/// A directory of its own for a test; gone with the value.
final class Folder: Sendable {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("pagecache-test-\(UUID().uuidString)").path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func createFile(_ path: String, _ text: String = "") {
        precondition(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
    }

    var store: String { "\(path)/store.sqlite" }
}

let noon = Timestamp(milliseconds: 1_800_000_000_000)

func items(_ names: some Sequence<String>) -> PageContent {
    PageContent(names.map { Item(payload: Array(#"{"id":"\#($0)"}"#.utf8), id: $0) })
}

func items(_ range: Range<Int>) -> PageContent { items(range.map { "i\($0)" }) }

/// A store with one query in it, and short words for what tests do with it.
struct Bench {
    let folder = Folder()
    let store: PageStore
    let query: QueryID

    init() async throws {
        store = try await PageStore.open(at: folder.store, mode: .createIfMissing, now: noon)
        query = try await store.register(QueryKey("https://example.com/list"), at: noon).id
    }

    var list: ListOutline { get async throws { try await store.outline(of: query)! } }

    @discardableResult
    func commit(_ edits: [ListEdit], ledger: [LedgerEdit] = [], at moment: Timestamp = noon) async throws -> CommitOutcome {
        try await store.commit(
            CommitPlan(query: query, version: try await list.record.version, at: moment, edits: edits, ledger: ledger))
    }

    @discardableResult
    func put(_ offset: Int, _ content: PageContent) async throws -> CommitOutcome {
        try await commit([.put(PageWrite(offset: offset, content: content, evidence: .inferred))])
    }

    /// Ids by position, of pages that count as held.
    var held: [Int: String] {
        get async throws {
            let window = try await store.window(of: query, 0..<1_000_000)!
            var held: [Int: String] = [:]
            for part in window.parts where part.isHeld {
                for index in 0..<part.content.count { held[part.offset + index] = part.content.ids[index] }
            }
            return held
        }
    }
}

/// The long form of the suites: `make soak`.
enum Soak {
    static let isOn = ProcessInfo.processInfo.environment["PAGECACHE_SOAK"] != nil
    /// Printed by what fails; PAGECACHE_SEED repeats it.
    static let seed = ProcessInfo.processInfo.environment["PAGECACHE_SEED"].flatMap(UInt64.init) ?? 11
}
