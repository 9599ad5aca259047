#if Tool
import Dispatch
import PageModel
import PageStore
import PagedRepository
import Synchronization

/// Runs `pagecache watch`: reads each list that a notice names, and prints or draws its changes.
///
/// State: the last outline of each list, and the view. Only the task of `run` uses both. The other tasks add the
/// queries to read and the pressed keys, behind mutexes (`PendingWork`).
final class Watching {
    /// The delay that people still perceive as immediate. A busy store is read no more often than that.
    private static let pause = Duration.milliseconds(100)

    private let store: any ToolStore
    private let name: String?
    private let format: OutputFormat
    private let showsChanges: Bool
    private let terminal = Terminal.standard
    private let clock = SystemClock()
    private var seen: [QueryID: ListOutline] = [:]
    private var view = WatchView()
    private let pendingWork = PendingWork()
    private var actions: WatchActions

    /// The queries that may have changed since the last reading, the pressed keys, and the signal that starts a
    /// reading.
    private final class PendingWork: Sendable {
        let signals: AsyncStream<Void>
        private let signal: AsyncStream<Void>.Continuation
        // `nil` means no notice has arrived since the last reading.
        private let queries = Mutex<Set<QueryID>?>(nil)
        private let keys = Mutex<[Key]>([])

        init() { (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

        func add(_ more: some Sequence<QueryID>) {
            queries.withLock { $0 = ($0 ?? []).union(more) }
            signal.yield()
        }

        func tick() { signal.yield() }

        func press(_ more: [Key]) {
            keys.withLock { $0 += more }
            signal.yield()
        }

        func takeKeys() -> [Key] {
            keys.withLock { keys in
                defer { keys = [] }
                return keys
            }
        }

        func take() -> Set<QueryID>? {
            queries.withLock { queries in
                defer { queries = nil }
                return queries
            }
        }

        func end() { signal.finish() }
    }

    init(store: any ToolStore, opening path: String, query: String?, format: OutputFormat, showsChanges: Bool) {
        self.store = store
        name = query
        self.format = format
        self.showsChanges = showsChanges
        actions = WatchActions(store: store, opening: path)
    }

    func run() async throws {
        var only: QueryID?
        if let name { only = try await QuerySelector.find(name, in: store).id }
        let first = only
        view.isNamed = name != nil
        // Notices start before the first read. A commit in between is read twice, and not missed.
        let notices = store.notices(of: only)
        if let only {
            seen[only] = try await store.outline(of: only)
        } else {
            for summary in try await store.summaries() { seen[summary.outline.record.id] = summary.outline }
            DamagedRecords.warn(try await store.storedQueries().damagedCount)
        }
        if format == .csv {
            let names = showsChanges ? ["query", "key"] + ItemChangeRendering.csvNames : ListEventRendering.csvNames
            terminal.print(names.joined(separator: ","))
        }
        terminal.flush()
        if format == .table, !showsView, terminal.errorIsTerminal {
            let what = showsChanges ? "changed items" : "events"
            terminal.note("waiting for \(what) of \(SizeText.count(seen.count, "query", "queries")); Ctrl-C ends")
        }
        draw()
        let listener = listen(to: notices, pendingWork)
        let ticker = tick(pendingWork)
        var keys: (any DispatchSourceRead)?
        terminal.onRedraw { [pendingWork] in pendingWork.tick() }
        defer {
            terminal.onRedraw(nil)
            keys?.cancel()
            listener.cancel()
            ticker.cancel()
        }
        pendingWork.tick()
        for await _ in pendingWork.signals {
            // No notice reports a removed file, and an open file stays readable after its removal.
            try store.checkPlace(while: "it was watched")
            // No notice reports that another program changes the schema of the store.
            try await store.checkSchema()
            // In the background no key can be read. `fg` changes that.
            if showsView, keys == nil, terminal.readsKeys {
                view.takesKeys = true
                keys = terminal.readKeys { [pendingWork] in pendingWork.press($0) }
            }
            terminal.keepKeys()
            for key in pendingWork.takeKeys() where try await !actions.press(key, &view, lists) { return }
            await actions.report(&view)
            if let name, let id = only, seen[id] == nil {
                // The query was removed. A query that is stored under the same name later has another id.
                if let found = try? await QuerySelector.find(name, in: store).id, found != id { only = found }
            }
            // Notices arrive only for the query that had the name first.
            if let only, only != first { pendingWork.add([only]) }
            if let queries = pendingWork.take() { try await look(at: queries, only: only) }
            draw()
            terminal.flush()
            try await Task.sleep(for: Watching.pause)
        }
    }

    private func listen(to notices: AsyncStream<StorageNotice>, _ pendingWork: PendingWork) -> Task<Void, Never> {
        Task {
            for await notice in notices {
                switch notice {
                case .changed(let set): pendingWork.add([set.query])
                case .invalidated(let queries): pendingWork.add(queries)
                }
            }
            pendingWork.end()
        }
    }

    /// Starts a reading once a second: the displayed ages grow, and the store may have been removed.
    private func tick(_ pendingWork: PendingWork) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                do { try await Task.sleep(for: .seconds(1)) } catch { return }
                pendingWork.tick()
            }
        }
    }

    private func look(at queries: Set<QueryID>, only: QueryID?) async throws {
        var queries = queries
        if only == nil {
            // Notices do not name removed queries.
            let all = Set(try await store.records().map(\.id))
            queries.formUnion(Set(seen.keys).subtracting(all))
            queries.formUnion(all.subtracting(seen.keys))
        }
        for query in queries.sorted(by: { $0.rawValue < $1.rawValue }) {
            let list = try await store.outline(of: query)
            if showsChanges {
                try await printChanges(from: seen[query], to: list)
                seen[query] = list
                continue
            }
            let events = ListHistory.events(from: seen[query], to: list)
            guard let key = (list ?? seen[query])?.record.key else { continue }
            seen[query] = list
            let now = clock.now()
            if showsView, let list { view.measure(list, now: now) }
            for event in events { printEvent(ListEventRendering(event: event, key: key, at: now)) }
        }
    }

    /// Prints the items that changed between two states of a list (R48).
    private func printChanges(from old: ListOutline?, to new: ListOutline?) async throws {
        guard let new else {
            // The positions of a purged list are no longer held.
            guard let old else { return }
            for range in old.coverage.segments {
                let change = ItemChange(
                    kind: .dropped, offset: range.lowerBound, count: range.count, at: clock.now(),
                    version: old.record.contentVersion)
                printChange(ItemChangeRendering(change: change), old.record.key)
            }
            return
        }
        let id = new.record.id
        var start = old?.record.contentVersion
        // A list that is new in the store is compared with its first version, which has no items.
        if start == nil { start = try await store.version(of: id, at: Timestamp(milliseconds: 0)) }
        guard let start else { return warnOfTruncation(new.record.key) }
        var changes = ItemChanges()
        var reached = start
        while true {
            switch try await store.changes(of: id, since: reached, limit: 1_000) {
            case .entries(let entries, let version, let hasMore)?:
                // Commits after the outline was read belong to the next reading.
                let count = entries.prefix { $0.version.counter <= new.record.contentVersion.counter }.count
                changes.add(Array(entries.prefix(count)))
                changes.follow(Array(entries.dropFirst(count)))
                reached = version
                if hasMore { continue }
            case .truncated?: return warnOfTruncation(new.record.key)
            case nil: return
            }
            break
        }
        try await changes.readItems(of: id, in: store, at: reached)
        for change in changes.all { printChange(ItemChangeRendering(change: change), new.record.key) }
    }

    private func warnOfTruncation(_ key: QueryKey) {
        terminal.warn(
            "\(key.shortID): the journal does not reach back to the last shown version; 'pagecache export \(key.shortID)' reads the whole list"
        )
    }

    private func printChange(_ change: ItemChangeRendering, _ key: QueryKey) {
        let members = [("query", JSONOutput.string(key.shortID)), ("key", .string(key.text))] + change.members
        switch format {
        case .table:
            let head = "\(TimeText.rfc3339(change.change.at).dropFirst(11).prefix(8))  \(key.shortID)  "
            let width = terminal.outputIsTerminal ? max(20, terminal.width - head.count) : .max
            terminal.print(styled: head + change.line(width: width, colour: terminal.colour))
        case .json, .ndjson: terminal.print(JSONOutput.object(members).text)
        case .csv: terminal.print(members.map { CSV.field($0.1) }.joined(separator: ","))
        }
    }

    private var showsView: Bool { format == .table && terminal.showsViews && !showsChanges }
    private var lists: [ListOutline] { seen.values.sorted { $0.record.id.rawValue < $1.record.id.rawValue } }

    private func printEvent(_ event: ListEventRendering) {
        switch format {
        case .table where showsView: view.note(event)
        case .table: terminal.print("\(TimeText.rfc3339(event.at))  \(event.key.shortID)  \(event.sentence)")
        case .json, .ndjson: terminal.print(event.json.text)
        case .csv: terminal.print(event.csv)
        }
    }

    private func draw() {
        guard showsView else { return }
        let size = terminal.size
        view.screen = size
        // One column stays free, because terminals differ in how they handle the end of a line.
        terminal.draw(
            view.lines(
                lists, columns: max(1, size.columns - 1), rows: size.rows, now: clock.now(), colour: terminal.colour))
    }
}
#endif
