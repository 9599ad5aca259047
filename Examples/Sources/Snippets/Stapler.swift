import PagedRepository

// snippet: response
struct ItemsResponse: Decodable, PaginatedResponse {
    let items: [Item]
    let total: Int
}
// end

enum Stapler {
    static func store(_ path: String) async throws -> SQLitePageStore {
        // snippet: store
        let store = try await SQLitePageStore.open(at: path, mode: .createIfMissing)
        // end
        return store
    }

    static func list(_ store: SQLitePageStore) throws -> PagedList<Item> {
        // snippet: first
        let source = ItemSource.offsets(pageSize: 10) { offset, size in
            try await API.items(offset: offset, size: size)
        }
        let list = ListRepository(storage: store, source: source).list(QueryKey("items"))
        // end
        return list
    }

    static func calls(_ list: PagedList<Item>, _ position: Int) async throws {
        // snippet: calls
        try await list.load()  // the initial load
        try await list.refresh()  // page one again
        list.itemAppeared(at: position)  // the next page, if it is needed; returns at once
        // end
    }

    static func binding(_ list: PagedList<Item>, _ showSpinner: (Bool) -> Void) async {
        // snippet: binding
        for await snapshot in list.snapshots {
            show(snapshot.items)
            showSpinner(snapshot.isLoadingNext)
        }
        // end
    }

    static func errors(_ list: PagedList<Item>) async {
        // snippet: errors
        for await case .failed(let failure) in list.events where failure.kind == .next { tell(failure) }
        // end
    }

    static func restart(_ list: PagedList<Item>) async throws {
        // snippet: restart
        try await list.load(.originFirst)  // throws only if nothing is cached
        show(list.current.items)
        // end
    }
}
