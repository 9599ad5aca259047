import Foundation
import Measuring
import PageStore
import PostgresPageStore
import SideBySide

/// Pages of 50 items: from SQLite, from the local copy with and without a comparison of the version, and from the server.
enum Reads {
    private static let pages = 50

    static func run(_ address: String, rounds: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let sqlite = try await SQLitePageStore.open(at: "\(folder)/store.sqlite")
        let schema = newSchema()
        let copied: (inout PostgreSQLPageStore.Options) -> Void = {
            $0.localCopy = PostgreSQLPageStore.LocalCopy(path: "\(folder)/copy.sqlite")
        }
        try await withStore(address, schema: schema, copied) { store in
            try await withStore(address, schema: schema) { plain in
                let local = try await fill(sqlite)
                let query = try await fill(store)
                var samples = [Samples](repeating: Samples(), count: 4)
                for page in 0..<pages { _ = try await store.page(at: page * 50, of: query) }
                try await Task.sleep(for: .milliseconds(300))
                for page in 0..<pages { _ = try await store.page(at: page * 50, of: query) }
                // In turn, so that the machine is equally fast for all.
                for round in 0..<rounds {
                    let offset = Int.random(in: 0..<pages) * 50
                    try await samples[0].time { try expect(try await sqlite.page(at: offset, of: local) != nil) }
                    try await samples[1].time { try expect(try await store.page(at: offset, of: query) != nil) }
                    guard round % 8 == 0 else { continue }
                    try await samples[3].time { try expect(try await plain.page(at: offset, of: query) != nil) }
                    // A change of the list that changes no page of it makes the next read ask for the version.
                    try await store.setPinned(round % 16 == 0, query)
                    try await samples[2].time { try expect(try await store.page(at: offset, of: query) != nil) }
                }
                let names = ["SQLite", "pagecache", "version asked", "server"]
                for (name, samples) in zip(names, samples) {
                    say(
                        "read a page of 50 items × 500 B", who: name, unit: "µs", samples.median,
                        p95: samples.percentile(0.95), p99: samples.percentile(0.99))
                }
                let status = await store.localCopyStatus()
                try expect(status?.problem == nil && status?.misses ?? 0 <= pages, "reads from the copy")
            }
        }
        await sqlite.close()
    }

    private static func fill(_ store: any PageStorage) async throws -> QueryID {
        let record = try await store.register("read")
        for page in 0..<pages {
            let write = PageWrite(offset: page * 50, content: Material().content(page), evidence: .inferred)
            _ = try await store.commit(
                CommitPlan(query: record.id, version: record.version, edits: [.insertPage(write)]))
        }
        return record.id
    }
}
