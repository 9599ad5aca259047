#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Synchronization
import Testing
import ToolSupport

/// An origin that answers page one and not the pages after it.
@Suite("pagecache with an origin whose deep pages time out")
struct TimeoutTests {
    private let folder = Folder()

    @Test("sync ends with 75 and the error of the pages, and does not call the origin offline")
    func deepPages() async throws {
        let isSlow = Mutex(false)
        let origin = DemoOrigin(count: 300) { _, target in
            isSlow.withLock { $0 } && target.contains(/offset=[1-9]/) ? .hold : nil
        }
        try await withOrigin(origin) { root in
            let url = "\(root)/items"
            #expect(try await folder.tool(["sync", url, "--max-pages", "2", "--quiet"]).status == 0)
            isSlow.withLock { $0 = true }
            let form = ["sync", url, "--timeout", "4s", "--wait", "0s", "--retries", "1"]
            let ended = try await folder.tool(form)
            #expect(ended.status == 75)
            #expect(ended.output.contains(": incomplete · "), "\(ended.output)")
            #expect(ended.errors.contains("2 pages failed, the first at position 199: "), "\(ended.errors)")
            #expect(!(ended.output + ended.errors).contains("offline"))
            // Both pages have used up their attempts.
            #expect(ended.errors.contains("; no retry is scheduled, and 'pagecache retry "), "\(ended.errors)")
            let json = try await folder.tool(form + ["--json"])
            #expect(json.status == 75)
            #expect(json.json["outcome"] as? String == "incomplete")
            #expect((json.json["failures"] as? [[String: Any]])?.first?["error_class"] as? String == "timeout")
        }
    }
}
#endif
