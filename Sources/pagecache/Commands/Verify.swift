#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `pagecache verify`: checks that the store holds exactly the data that was stored.
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every byte of a store; repair it, or set it aside.",
        discussion: """
            The exit code is 65 when verify finds a problem. --repair drops damaged pages,
            and the next sync fetches them again. Intact pages stay. --repair rebuilds the
            damaged record of a query from its pages, and names the command that fetches
            the list: 'pagecache sync ID --rebind', or 'pagecache sync' with the URL and
            --key for a query with a key. Add the credential that the origin needs. If rows
            are unreadable, or another program changed a table, --repair copies the
            readable rows to a new file, and keeps the old file as '….corrupt-<time>'. No
            other process may have the store open then. --set-aside renames a damaged
            store, so that the next sync creates a new one; its sound items stay in the
            renamed file. --set-aside refuses a sound store, and files of other programs.

            EXAMPLES
              pagecache verify
              pagecache verify --repair
              pagecache verify --set-aside --yes
            """)

    @Flag(help: "Repair the store. Pages that cannot be repaired are dropped, and fetched again.")
    var repair = false
    @Flag(help: "Rename the store with its log, so that the next sync creates a new store.")
    var setAside = false
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if repair, setAside { throw ValidationError("--repair and --set-aside exclude each other; name one of them") }
    }

    func run() async throws {
        common.apply()
        if setAside { return try await moveAway() }
        let access = repair && !consent.dryRun ? StoreAccess.writing : .reading
        do {
            do {
                try await common.withStore(access) { store in try await check(at: store) }
            } catch let error as StorageError where access == .writing {
                guard let path = common.place.path else { throw error }
                if try await salvage(path, error) { return }
                guard error.code == .damaged else { throw error }
                let header = try SQLitePageStore.repairHeader(at: path)
                guard !header.isEmpty else { throw error }
                try await common.withStore(access) { store in try await check(at: store, repaired: header) }
            }
        } catch let error as StorageError where error.code == .damaged || error.code == .notAStore {
            guard error.code == .damaged || isOurs, !(error.cause is EarlierBuild) else { throw error }
            throw unreadable(error)
        } catch let error as StorageError where error.code == .full && common.place.path != nil {
            throw ToolFailure(
                .inputOutput, error.code.description, error.message, hint: Self.hint(withoutRoom: error))
        }
    }

    /// Copies the readable rows of a store whose schema another program changed.
    /// - Returns: false when the error has another cause, or when the change can be undone without a copy. Nothing was
    ///   changed then.
    private func salvage(_ path: String, _ error: StorageError) async throws -> Bool {
        guard let change = error.cause as? SchemaChange, change.isSalvageable else { return false }
        let report = try await SQLitePageStore.salvage(at: path, from: change)
        try await common.withStore(.reading) { store in try await finish(report, await shortIDs(in: store), at: store) }
        return true
    }

    /// Whether the file has the mark of a store, so that a foreign schema in it is damage.
    private var isOurs: Bool { common.place.path.map(SQLitePageStore.hasMark) ?? false }

    /// Whether a repair of the header may make a store readable that cannot be opened. Always true for a store on a
    /// server.
    private var isRepairable: Bool { common.place.path.map(SQLitePageStore.hasRepairableHeader) ?? true }

    /// The error for a store that cannot be examined or changed. Its hint names `verify --repair` only when this
    /// command was not a repair.
    private func unreadable(_ error: StorageError) -> ToolFailure {
        ToolFailure(
            .unusableData, error.code.description, error.message,
            hint: (error.cause as? SchemaChange).map { ToolFailure.remedy(for: $0) }
                ?? (repair && !consent.dryRun || !isRepairable ? Self.lastResort : Self.headerRepair))
    }

    /// - Parameter header: the problems of the file's header, which are already repaired. Defaults to none.
    private func check(at store: any ToolStore, repaired header: [Finding] = []) async throws {
        if common.place.path != nil { Terminal.standard.detail("SQLite \(SQLitePageStore.sqliteVersion)") }
        let names = await shortIDs(in: store)
        guard repair else {
            let report = try await store.verify()
            write(report, names, repaired: nil)
            guard report.isSound else {
                throw Self.failure(report, hint: "'pagecache verify --repair' repairs the store")
            }
            return
        }
        if consent.dryRun {
            let report = try await store.repairPreview()
            write(report.found, names, repaired: report)
            guard report.found.isSound else {
                throw Self.failure(report.found, hint: "'pagecache verify --repair' makes these changes")
            }
            return
        }
        var report = try await store.repair()
        report.found.findings = header + report.found.findings
        report.repaired += header.count
        try await finish(report, names, at: store)
    }

    private func shortIDs(in store: any ToolStore) async -> [QueryID: String] {
        Dictionary(uniqueKeysWithValues: (try? await store.records())?.map { ($0.id, $0.key.shortID) } ?? [])
    }

    /// Prints the result of a repair. Throws `ToolFailure` when problems remain.
    private func finish(_ report: RepairReport, _ names: [QueryID: String], at store: any ToolStore) async throws {
        write(report.found, names, repaired: report)
        noteLost((try? await store.records())?.filter(\.isDescriptionLost) ?? [])
        guard report.remaining.isSound else { throw Self.failure(report.remaining, hint: Self.lastResort) }
    }

    /// Prints the number of queries whose records were rebuilt, and the command that fetches the first of them.
    private func noteLost(_ queries: [QueryRecord]) {
        guard let first = queries.first else { return }
        let rebuilt = SizeText.count(queries.count, "rebuilt query", "rebuilt queries")
        Terminal.standard.note(
            "the paging profile and the credential check of \(rebuilt) are lost; '\(first.syncCommand)' fetches \(queries.count == 1 ? "the list" : "the first list")"
        )
    }

    private static let headerRepair =
        "'pagecache verify --repair' may repair it; 'pagecache verify --set-aside' makes room for a new store"
    private static let lastResort =
        "'pagecache verify --set-aside' makes room for a new store, and sound items stay in the file set aside"

    private static func failure(_ report: VerifyReport, hint: String) -> ToolFailure {
        let count = report.findings.count
        return ToolFailure(
            .unusableData, "damaged", "verify found \(SizeText.count(count, "problem", "problems"))",
            hint: hint)
    }

    private func moveAway() async throws {
        let path = try common.storeFile(for: "--set-aside")
        guard try await SQLitePageStore.isDamaged(at: path) else {
            throw ToolFailure(
                .usage, "sound_store", "the store at \(path) is sound, so there is no reason to set it aside",
                hint: "'pagecache purge --all' empties it")
        }
        if !consent.dryRun, try !consent.ask("verify", about: "set \(path) aside") {
            return Terminal.standard.note("nothing changed")
        }
        let target =
            consent.dryRun ? "\(path).corrupt-<time>" : try SQLitePageStore.setAside(at: path, now: SystemClock().now())
        ResultTable.render(
            one: [("dry_run", .bool(consent.dryRun)), ("set_aside", .string(target))], common.outputFormat,
            sentence: consent.dryRun ? "would rename \(path) to \(target)" : "set aside as \(target)")
    }

    // MARK: Rendering

    private func write(_ report: VerifyReport, _ names: [QueryID: String], repaired: RepairReport?) {
        switch common.outputFormat {
        case .json, .ndjson: Terminal.standard.print(json(report, names, repaired).text)
        case .csv: findings(report, names).render(.csv, to: .standard)
        case .table: printFindings(report, names, repaired)
        }
    }

    private func printFindings(_ report: VerifyReport, _ names: [QueryID: String], _ repaired: RepairReport?) {
        let terminal = Terminal.standard
        for finding in report.findings {
            let place = [
                finding.query.map { names[$0] ?? "query \($0.rawValue)" },
                finding.range.map {
                    $0.count <= 1
                        ? "position \(SizeText.count($0.lowerBound))"
                        : "positions \(SizeText.count($0.lowerBound))–\(SizeText.count($0.upperBound - 1))"
                },
            ].compactMap { $0 }.joined(separator: ", ")
            terminal.print(sentence: "\(place.isEmpty ? "" : "\(place): ")\(finding.message)")
        }
        let looked = [
            SizeText.count(report.queries, "query", "queries"), SizeText.count(report.pages, "page", "pages"),
            SizeText.count(report.items, "item", "items"), SizeText.bytes(report.bytes),
        ].joined(separator: ", ")
        terminal.print(sentence: report.isSound ? "sound: \(looked)" : "checked \(looked)")
        guard let repaired, !report.isSound else { return }
        if consent.dryRun { return printPlan(repaired) }
        terminal.print(
            "dropped \(SizeText.count(repaired.pagesDropped, "page", "pages")) and \(SizeText.count(repaired.queriesDropped, "query", "queries")), repaired \(SizeText.count(repaired.repaired, "record", "records"))\(repaired.remaining.isSound ? "; the store is sound" : "")"
        )
        if let replaced = repaired.replacedFile {
            terminal.note("the readable rows were copied to a new file; the old file is \(replaced)")
        }
        noteDropped(repaired)
    }

    /// Prints the commands that restore lost pins, dropped queries and dropped pages. `sync --all` fetches only lists
    /// that have a record.
    private func noteDropped(_ repaired: RepairReport) {
        let terminal = Terminal.standard
        if let pins = Self.sentence(aboutPins: repaired.pinsLost) { terminal.note(pins) }
        if repaired.queriesDropped > 0 {
            var unknown = repaired.queriesDropped
            for record in repaired.removed {
                guard let url = ListRunner.url(of: record).map(StoreHint.quoted) else { continue }
                unknown -= 1
                let pin = record.isPinned ? ", and 'pagecache pin \(url)' pins it again" : ""
                terminal.note("'pagecache sync \(url)' fetches the list of a dropped query again\(pin)")
            }
            if unknown > 0 {
                let queries = SizeText.count(unknown, "dropped query has", "dropped queries have")
                terminal.note(
                    "\(queries) no readable URL; 'pagecache sync URL' fetches a list again, and 'pagecache pin URL' pins it again"
                )
            }
        }
        guard repaired.pagesDropped > 0 else { return }
        if repaired.queriesDropped == 0 {
            terminal.note("'pagecache sync --all' fetches the dropped pages again")
        } else if repaired.found.queries > repaired.queriesDropped {
            terminal.note("'pagecache sync --all' fetches dropped pages of the other queries again")
        }
    }

    private func printPlan(_ plan: RepairReport) {
        if let replaced = plan.replacedFile {
            let room = plan.bytesNeeded.map { ", which needs \(SizeText.bytes($0)) of free space" } ?? ""
            return Terminal.standard.print(
                sentence:
                    "would copy the readable rows to a new file\(room), and keep the damaged file as \(replaced)")
        }
        let pages = SizeText.count(plan.pagesDropped, "page", "pages")
        let queries = SizeText.count(plan.queriesDropped, "query", "queries")
        Terminal.standard.print(
            sentence:
                "would drop \(pages) and \(queries), and repair \(SizeText.count(plan.repaired, "record", "records"))")
    }

    /// One row for each finding. Empty when the store is sound.
    private func findings(_ report: VerifyReport, _ names: [QueryID: String]) -> ResultTable {
        ResultTable(
            columns: ["kind", "query", "offset", "count", "message"].map { .init(name: $0) },
            rows: report.findings.map { finding in
                [
                    .init(.string(finding.kind.rawValue)), .init(.optional(finding.query.flatMap { names[$0] })),
                    .init(.optional(finding.range?.lowerBound)), .init(.optional(finding.range?.count)),
                    .init(.string(finding.message)),
                ]
            })
    }

    private func json(_ report: VerifyReport, _ names: [QueryID: String], _ repaired: RepairReport?) -> JSONOutput {
        let table = findings(report, names)
        let findings = table.rows.map { row in JSONOutput.object(zip(table.columns, row).map { ($0.name, $1.value) }) }
        let repair = repaired.map { report in
            JSONOutput.object([
                ("pages_dropped", .int(report.pagesDropped)), ("queries_dropped", .int(report.queriesDropped)),
                ("repaired", .int(report.repaired)),
                ("pins_lost", .array(report.pinsLost.map { .string($0.shortID) })),
                ("sound", consent.dryRun ? .null : .bool(report.remaining.isSound)),
                ("replaced_file", .optional(report.replacedFile)), ("dry_run", .bool(consent.dryRun)),
            ])
        }
        return .object([
            ("sound", .bool(report.isSound)), ("queries", .int(report.queries)), ("pages", .int(report.pages)),
            ("items", .int(report.items)), ("bytes", .int(report.bytes)), ("findings", .array(findings)),
            ("repair", repair ?? .null),
        ])
    }
}
#endif
