import PagedRepository

enum Background {
    static func engine(
        _ store: SQLitePageStore, _ codec: JSONItemCodec<Item>,
        _ source: @escaping @Sendable (QueryKey) -> any PageSource
    ) async throws {
        // snippet: engine
        let gate = OriginGate(concurrency: 4, requestsPerSecond: 10)
        let lists = ListRepository(storage: store, codec: codec) { key in gate.limiting(source(key)) }
        let engine = SyncEngine(storage: store) { record in
            SyncEngine.Origin("https://api.example.com", source(record.key), gate: gate)
        }
        try await engine.run()  // until its task is cancelled
        // end
        _ = lists
    }

    static func watch(_ store: SQLitePageStore, _ id: QueryID, _ read: () -> Void) async {
        // snippet: notices
        for await notice in store.notices(of: id) {
            switch notice {
            case .changed(let change) where change.changesItems: read()
            case .changed: break  // an age or a ledger entry changed
            case .invalidated: read()  // another process committed, or changes came faster than this loop read them
            }
        }
        // end
    }
}
