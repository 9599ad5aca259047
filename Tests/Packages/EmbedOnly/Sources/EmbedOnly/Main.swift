import Foundation
import PagedRepository

/// A source that answers from memory: 48 items, 10 a page.
struct Numbers: PageSource {
    var access: PagingAccess { .offsets }
    var usage: SourceUsage { SourceUsage() }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let start = if case .offset(let offset) = request.target { offset } else { 0 }
        let items = (start..<max(start, min(start + 10, 48))).map { RawItem(payload: Array("\($0)".utf8), id: "\($0)") }
        return .page(FetchedPage(content: PageContent(items), total: .exact(48)))
    }
}

@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("embed-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try await SQLitePageStore.open(at: "\(folder)/store.sqlite", mode: .createIfMissing)
        let report = try await ListSync(storage: store, source: Numbers(), key: QueryKey("numbers")).run()
        print(report.outcome, report.state?.holdings?.held.count ?? 0)
        await store.close()
    }
}
