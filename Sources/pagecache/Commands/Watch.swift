#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository
import Synchronization

/// `pagecache watch`: the events in a store, from all processes.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch commits, failures and retries as they happen, from any process.",
        discussion: """
            On a terminal a view that is kept up to date; elsewhere a line for each event.
            With --format ndjson or json an object for each event, one a line; with csv a
            row. Ends with Ctrl-C.

            EXAMPLES
              pagecache watch
              pagecache watch 4k2m9xqa --json | jq -r 'select(.event == "failed") | .offset'
            """)

    @Argument(help: "A query: its id, its key, or the beginning of either. Default: all of them.", completion: .queries)
    var query: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let store = try await open()
        do {
            try await Watching(store: store, query: query, format: common.outputFormat).run()
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// Opens the store for writing where that is permitted. Watching needs the file through which processes notify each
    /// other of commits, and only a writer can create it.
    private func open() async throws -> PageStore {
        do {
            return try await common.openStore(.mustExist)
        } catch let error as StorageError where error.code == .permission {
            return try await common.openStore(.readOnly)
        }
    }
}

/// State: the last outline of each list, and the view. Only the task that looks uses both. The other tasks add queries
/// to look at, behind the mutex.
private final class Watching {
    /// The delay that people still perceive as immediate. A busy store is read no more often than that.
    private static let pause = Duration.milliseconds(100)

    private let store: PageStore
    private let name: String?
    private let format: OutputFormat
    private let terminal = Terminal.standard
    private let clock = SystemClock()
    private var seen: [QueryID: ListOutline] = [:]
    private var view = WatchView()
    private let todo = Todo()

    /// Queries that may have changed since the last look, and the signal that starts a look.
    private final class Todo: Sendable {
        let bell: AsyncStream<Void>
        private let ring: AsyncStream<Void>.Continuation
        // `nil` means no notice has arrived since the last look.
        private let queries = Mutex<Set<QueryID>?>(nil)

        init() { (bell, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

        func add(_ more: some Sequence<QueryID>) {
            queries.withLock { $0 = ($0 ?? []).union(more) }
            ring.yield()
        }

        func tick() { ring.yield() }

        func take() -> Set<QueryID>? {
            queries.withLock { queries in
                defer { queries = nil }
                return queries
            }
        }

        func end() { ring.finish() }
    }

    init(store: PageStore, query: String?, format: OutputFormat) {
        self.store = store
        name = query
        self.format = format
    }

    func run() async throws {
        var only: QueryID?
        if let name { only = try await QuerySelector.find(name, in: store).id }
        // Notices start before the first read. A commit in between is read twice, and not missed.
        let notices = store.notices(of: only)
        if let only {
            seen[only] = try await store.outline(of: only)
        } else {
            for summary in try await store.summaries() { seen[summary.outline.record.id] = summary.outline }
        }
        if format == .csv { terminal.print(ListEventRendering.csvNames.joined(separator: ",")) }
        terminal.flush()
        draw()
        let listener = listen(to: notices, todo)
        let ticker = tick(todo)
        terminal.onRedraw { [todo] in todo.tick() }
        defer {
            terminal.onRedraw(nil)
            listener.cancel()
            ticker?.cancel()
        }
        for await _ in todo.bell {
            if let queries = todo.take() { try await look(at: queries, only: only) }
            draw()
            terminal.flush()
            try await Task.sleep(for: Watching.pause)
        }
    }

    private func listen(to notices: AsyncStream<StorageNotice>, _ todo: Todo) -> Task<Void, Never> {
        Task {
            for await notice in notices {
                switch notice {
                case .changed(let set): todo.add([set.query])
                case .mayHaveChanged(let queries): todo.add(queries)
                }
            }
            todo.end()
        }
    }

    /// Redraws the view once a second, because the displayed ages grow.
    private func tick(_ todo: Todo) -> Task<Void, Never>? {
        guard showsView else { return nil }
        return Task {
            while !Task.isCancelled {
                do { try await Task.sleep(for: .seconds(1)) } catch { return }
                todo.tick()
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
            let events = ListHistory.events(from: seen[query], to: list)
            guard let key = (list ?? seen[query])?.record.key else { continue }
            seen[query] = list
            let now = clock.now()
            for event in events { tell(ListEventRendering(event: event, key: key, at: now)) }
        }
    }

    private var showsView: Bool { format == .table && terminal.showsViews }

    private func tell(_ event: ListEventRendering) {
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
        let lists = seen.values.sorted { $0.record.id.rawValue < $1.record.id.rawValue }
        terminal.draw(
            view.lines(lists, columns: size.columns, rows: size.rows, now: clock.now()) { terminal.colour(1, $0) })
    }
}
#endif
