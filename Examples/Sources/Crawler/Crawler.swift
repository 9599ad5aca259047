// Stores a whole list, page by page, and then writes its items, one a line. After a kill the next start continues.
//
//     swift run --package-path Examples Crawler http://127.0.0.1:9000/articles /tmp/crawl.sqlite >/tmp/articles.ndjson
import Foundation
import HTTPPageSource
import PagedRepository

@main
struct Crawler {
    static func main() async throws {
        // The key of the list is its URL without paging and secrets, so the same URL names the same list.
        let arguments = CommandLine.arguments.dropFirst()
        guard let url = arguments.first, let key = HTTPSource.key(for: url) else {
            say("usage: Crawler URL [STORE]")
            exit(64)
        }
        let path = arguments.dropFirst().first ?? "crawl/store.sqlite"
        let store = try await SQLitePageStore.open(at: path)
        let transport = AsyncHTTPTransport()
        let status: Int32
        do {
            status = try await crawl(url, key, transport, into: store)
        } catch {
            await transport.close()
            await store.close()
            throw error
        }
        await transport.close()
        await store.close()
        exit(status)
    }

    /// The first run and a continued run use the same code: the run fetches the pages that are not held. The program
    /// needs no signal handler. Each page is one commit (R1), so a kill costs only the pages in flight (R31).
    private static func crawl(
        _ url: String, _ key: QueryKey, _ transport: AsyncHTTPTransport, into store: SQLitePageStore
    ) async throws -> Int32 {
        let source = try HTTPSource(HTTPSourceConfiguration(url: url), transport: transport)
        var options = SyncOptions()
        options.reportsOutline = true
        let sync = ListSync(storage: store, source: source, key: key, options: options)
        let report = try await sync.run { Progress.tell($0) }
        say(
            "\(report.outcome.rawValue): \(source.usage.requests) requests; \(report.pagesKept) pages were held already"
        )
        guard report.outcome == .complete, let list = report.list else {
            // The ledger holds the failures, with the times of the next attempts.
            if let failure = report.headFailure ?? report.list?.failures.first?.failure { say(failure.message) }
            return EX_TEMPFAIL
        }
        try await Items.write(of: list, from: store)
        return EXIT_SUCCESS
    }
}

/// Prints a message on standard error. Standard output is for the items.
func say(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
}
