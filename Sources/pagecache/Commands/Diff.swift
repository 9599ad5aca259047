#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache diff`: the changes of a list, from its journal (R48).
struct Diff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show inserted, deleted, moved and edited items of a query, without the network.",
        discussion: """
            Prints one line for each change: a sign, the position, the id, and the item.
            The signs are '+' inserted or loaded, '-' deleted or no longer stored, '>'
            moved, '~' edited, '!' replaced. The position and the item are those right
            after the change; of a deleted item, those before it. The exit code is 1 when
            an item changed, positions were loaded or the list was replaced, and otherwise
            0. Positions that are no longer stored do not count as a change. The store
            keeps the changes of the last ten minutes, and older ones up to 1 MiB for each
            query. The exit code is 66 when these changes do not reach back far enough. To
            see the changes of one sync, store the version before it.

            EXAMPLES
              pagecache diff 4k2m9xqa                 since the last sync with changes
              pagecache diff 4k2m9xqa --since 1h
              pagecache diff 4k2m9xqa --since 2026-01-31T12:00:00Z
              pagecache diff 4k2m9xqa --since @17-00c0ffee00c0ffee --json
              v=$(pagecache info "$URL" --json | jq -r .version)
              pagecache sync "$URL" -q && pagecache diff "$URL" --since "@$v"
              [ $? -eq 1 ] && notify-send changed
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @Option(
        help: ArgumentHelp(
            "The start: last, a duration before now, a time (RFC 3339), or @VERSION. Default: last.",
            discussion:
                "'last' is the start of the most recent sync that changed an item. The JSON of 'sync', 'info' and 'diff' has versions.",
            valueName: "since"))
    var since: SinceArgument?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let isChanged = try await common.withStore(.reading) { store in try await diff(store) }
        if isChanged { throw ToolProcess.Ended(status: .changed) }
    }

    private func diff(_ store: any ToolStore) async throws -> Bool {
        let record = try await QuerySelector.find(query, in: store)
        guard let start = try await start(record, store) else { throw truncated(record) }
        var changes = ItemChanges()
        var reached = start
        while true {
            switch try await store.changes(of: record.id, since: reached, limit: 1_000) {
            case .entries(let more, let version, let hasMore)?:
                changes.add(more)
                reached = version
                if hasMore { continue }
            case .truncated: throw truncated(record)
            case nil:
                throw ToolFailure(
                    .notFound, "no_such_query", "'\(query)' was purged just now", hint: "'pagecache list' lists queries"
                )
            }
            break
        }
        try await changes.readItems(of: record.id, in: store, at: reached)
        render(changes.all, record.key, start, reached)
        // Positions that are no longer stored, after an eviction for example, do not count as a change of the list.
        return changes.all.contains { $0.kind != .dropped }
    }

    /// The version to compare with. Returns nil when the journal does not reach back to the given time. A given version
    /// is returned unchecked. Throws `ToolFailure` for a time in the future.
    private func start(_ record: QueryRecord, _ store: any ToolStore) async throws -> ContentVersion? {
        switch since ?? .last {
        case .version(let version): return version
        case .time(let moment):
            let now = try await store.now()
            guard moment <= now else {
                throw ToolFailure(
                    .usage, "usage", "--since must not be in the future, and is \(TimeText.rfc3339(moment))",
                    hint: "the clock of the store shows \(TimeText.rfc3339(now))")
            }
            return try await store.version(of: record.id, at: moment)
        case .age(let age): return try await store.version(of: record.id, at: try await store.now() + (.zero - age))
        case .last:
            if let version = try await store.tally(of: record.id)?.changedSince { return version }
            // No sync of the tool has changed the list, so the comparison starts with the first version.
            return try await store.version(of: record.id, at: Timestamp(milliseconds: 0))
        }
    }

    private func truncated(_ record: QueryRecord) -> ToolFailure {
        ToolFailure(
            .notFound, "journal_truncated", "the stored changes of '\(query)' do not reach back that far",
            hint:
                "read the whole list with 'pagecache export', and continue with --since @\(VersionText.text(record.contentVersion))"
        )
    }

    private func render(_ changes: [ItemChange], _ key: QueryKey, _ start: ContentVersion, _ reached: ContentVersion) {
        let terminal = Terminal.standard
        let renderings = changes.map { ItemChangeRendering(change: $0) }
        switch common.outputFormat {
        case .table:
            let width = terminal.outputIsTerminal ? terminal.width : .max
            for one in renderings { terminal.print(styled: one.line(width: width, colour: terminal.colour)) }
            terminal.note("\(ItemChange.summary(changes)) since @\(VersionText.text(start))")
        case .json:
            terminal.print(
                JSONOutput.object([
                    ("query", .string(key.shortID)), ("key", .string(key.text)), ("scope", .string(key.scope)),
                    ("since", .string(VersionText.text(start))), ("reached", .string(VersionText.text(reached))),
                    ("changes", .array(renderings.map { .object($0.members) })),
                ]).text)
        case .ndjson:
            for one in renderings { terminal.print(JSONOutput.object(one.members).text) }
        case .csv:
            terminal.print(ItemChangeRendering.csvNames.joined(separator: ","))
            for one in renderings { terminal.print(one.members.map { CSV.field($0.1) }.joined(separator: ",")) }
        }
    }
}
#endif
