#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache pin`: exempts a query from eviction.
struct Pin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Exempt a query from eviction.",
        discussion: """
            EXAMPLES
              pagecache pin 4k2m9xqa
            """)

    @Argument(help: "A query: its id, its key, or the beginning of either.", completion: .queries)
    var query: String
    @OptionGroup var common: CommonOptions

    func run() async throws { try await setPinned(true, query, common) }
}

/// `pagecache unpin`: lets a query be evicted again.
struct Unpin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Let a query be evicted again.",
        discussion: """
            EXAMPLES
              pagecache unpin 4k2m9xqa
            """)

    @Argument(help: "A query: its id, its key, or the beginning of either.", completion: .queries)
    var query: String
    @OptionGroup var common: CommonOptions

    func run() async throws { try await setPinned(false, query, common) }
}

private func setPinned(_ isPinned: Bool, _ query: String, _ common: CommonOptions) async throws {
    common.apply()
    let store = try await common.openStore(.mustExist)
    do {
        let record = try QuerySelector.find(query, in: try await store.summaries()).outline.record
        try await store.setPinned(isPinned, record.id)
        switch common.outputFormat {
        case .json, .ndjson:
            Terminal.standard.print(JSONOutput.object([("query", .string(record.key.shortID)), ("pinned", .bool(isPinned))]).text)
        case .table, .csv:
            Terminal.standard.print("\(record.key.text) is \(isPinned ? "pinned" : "not pinned")")
        }
    } catch {
        await store.close()
        throw error
    }
    await store.close()
}

/// `pagecache gc`: applies budgets now.
struct CollectGarbage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gc",
        abstract: "Remove the pages that were not used for longest, until a budget is kept.",
        discussion: """
            What is removed leaves a gap in its list; the next sync fetches it again. Pinned queries stay.

            EXAMPLES
              pagecache gc --max-bytes 500M
              pagecache gc --max-age 30d
            """)

    @Option(help: ArgumentHelp("Keep at most so many bytes of items.", valueName: "size"))
    var maxBytes: SizeArgument?
    @Option(help: ArgumentHelp("Keep no page that was not read or fetched for so long.", valueName: "duration"))
    var maxAge: DurationArgument?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard maxBytes != nil || maxAge != nil else { throw ValidationError("name a budget: --max-bytes, --max-age, or both") }
    }

    func run() async throws {
        common.apply()
        let store = try await common.openStore(.mustExist)
        do {
            let budget = EvictionBudget(bytes: maxBytes?.bytes, age: maxAge?.duration)
            let report = try await store.evict(to: budget, exempt: [], at: SystemClock().now())
            switch common.outputFormat {
            case .json, .ndjson:
                Terminal.standard.print(
                    JSONOutput.object([
                        ("pages", .int(report.pages)), ("bytes", .int(report.bytes)), ("queries", .int(report.queries)),
                        ("bytes_left", .int(report.bytesLeft)),
                    ]).text)
            case .table, .csv:
                Terminal.standard.print(
                    "removed \(SizeText.count(report.pages)) pages, \(SizeText.bytes(report.bytes)); \(SizeText.bytes(report.bytesLeft)) are left")
                if let most = maxBytes?.bytes, report.bytesLeft > most {
                    Terminal.standard.note("what is left is pinned")
                }
            }
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }
}
#endif
