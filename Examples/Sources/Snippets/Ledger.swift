import PagedRepository

enum Ledger {
    static func failures(_ store: SQLitePageStore, _ say: (String) -> Void) async throws {
        // snippet: failures
        guard let query = try await store.query("events"), let list = try await store.outline(of: query.id) else {
            return
        }
        for entry in list.failures {
            say("\(entry.offset): \(entry.failure?.message ?? ""), tried \(entry.attempts) times")
        }
        // end
    }

    static func schedule() -> PagedListOptions {
        // snippet: schedule
        var options = PagedListOptions()
        options.sync.retry = RetrySchedule(
            attempts: 5, base: .seconds(1), cap: .seconds(60), longestRetryAfter: .seconds(900))
        options.automaticRetry = .perLedger  // scrolling retries a page once its pause is over
        // end
        return options
    }

    static func classify() throws -> ItemSource<Item> {
        // snippet: classify
        let source = ItemSource.offsets(pageSize: 20) { offset, size in
            do {
                return try await API.items(offset: offset, size: size)
            } catch let error as Maintenance {
                throw FetchFailure(.throttled, "maintenance", isRetryable: true, retryAfter: error.remaining)
            }
        }
        // end
        return source
    }

    struct Maintenance: Error {
        var remaining: Duration
    }

    static func due(_ store: SQLitePageStore, _ source: @escaping @Sendable (QueryKey) -> any PageSource) async throws {
        // snippet: due
        for due in try await DueWork.all(in: store) {
            for work in due.runs {
                let options = DueWork.options(for: work, from: SyncOptions())
                let sync = ListSync(storage: store, source: source(due.query.key), key: due.query.key, options: options)
                _ = try await sync.run()
            }
        }
        // end
    }
}
