#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache watch`: the events in a store, from all processes.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch commits, failures and retries of all processes, live.",
        discussion: """
            On a terminal, watch shows a view of all queries: coverage, rate, time left,
            failures and events. Failing queries come first. Press / and type 'failing' to
            list only those. Other keys retry, pin or sweep a query, or show its items.
            Without a terminal, and with --changes or another format, each event is one
            line: a text, an object (json, ndjson) or a row (csv).
            --changes prints inserted, deleted, moved and edited items, as 'diff' does.
            Ctrl-C ends the command.

            EXAMPLES
              pagecache watch
              pagecache watch 4k2m9xqa --json | jq 'select(.event == "failed")'
              pagecache watch --changes --json | jq -c 'select(.change == "deleted")'
            """)

    @Argument(help: QueryHelp.optional, completion: .queries)
    var query: String?
    @Flag(help: "Print each changed item instead of each event.")
    var changes = false
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let store = try await open()
        do {
            try await Watching(
                store: store, opening: common.storePath, query: query, format: common.outputFormat,
                showsChanges: changes
            ).run()
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// Opens the store for writing where that is permitted. Watching needs the file through which processes notify each
    /// other of commits, and only a writer can create it.
    private func open() async throws -> any ToolStore {
        do {
            return try await common.openStore(.writing)
        } catch let error as StorageError where error.code == .permission {
            return try await common.openStore(.reading)
        }
    }
}
#endif
