// The store beside the C limit: the same work on the same layout, alternating in one process, so that what the machine
// does meanwhile happens to both. StoreBenchmark [PAGES] [--commits-only]. Times are medians in microseconds; only the ratios mean something elsewhere.
import Foundation
import PageModel
import PageStore
import SQLiteLimit

let pages = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 4_000
let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pagecache-bench-\(UUID().uuidString)").path
try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: directory) }

let schema = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../Migrations/v0001_pages.sql").standardizedFileURL.path
let bench = try await StoreBench(directory: directory, schema: schema, pages: pages)
try await bench.run(commitsOnly: CommandLine.arguments.contains("--commits-only"))
