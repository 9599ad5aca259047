import Foundation
import PagedRepository

/// Writes the items of a stored list to standard output, one a line, byte for byte as the origin sent them (R7).
enum Items {
    /// Reads at most a thousand items at a time into memory.
    static func write(of list: ListOutline, from store: SQLitePageStore) async throws {
        for start in stride(from: 0, to: list.length, by: 1_000) {
            guard let window = try await store.window(of: list.record.id, start..<min(start + 1_000, list.length))
            else { return }
            var lines = Data()
            for part in window.parts {
                for index in 0..<part.content.count {
                    lines.append(contentsOf: part.content.payload(at: index))
                    lines.append(UInt8(ascii: "\n"))
                }
            }
            try FileHandle.standardOutput.write(contentsOf: lines)
        }
    }
}
