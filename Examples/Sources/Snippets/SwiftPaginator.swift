import PagedRepository

// snippet: response
struct NamesResponse: Decodable, PaginatedResponse {
    let results: [String]
    let total: Int
    var items: [String] { results }
}
// end

enum SwiftPaginator {
    static func list(_ store: SQLitePageStore) throws -> PagedList<String> {
        // snippet: first
        let source = ItemSource.pages(size: 10, firstNumber: 0) { page, size in
            try await API.names(page: page, size: size)
        }
        let list = ListRepository(storage: store, source: source).list(QueryKey("names"))
        // end
        return list
    }

    static func handlers(_ list: PagedList<String>, _ received: ([String], Range<Int>) -> Void, _ reload: () -> Void)
        async
    {
        // snippet: handlers
        for await event in list.events {
            switch event {
            case .pageLoaded(let range, let results): received(results, range)
            case .reset, .refreshed, .changedElsewhere: reload()
            case .failed(let failure): tell(failure)
            case .endReached, .undecodable: break
            }
        }
        // end
    }

    static func anywhere(_ repository: ListRepository<String>) async throws {
        // snippet: window
        let window = try await repository.page(QueryKey("names"), offset: 5_000, limit: 20)
        show(window.items)
        // end
    }

    static func calls(_ list: PagedList<String>) async throws {
        // snippet: calls
        try await list.loadNext()  // the next page; page one if no page is cached
        try await list.refresh()  // page one again; the items stay until it arrives
        try await list.reset()  // removes all items, also from the store
        // end
    }
}

// snippet: status
enum RequestStatus { case none, inProgress, done }

extension ListSnapshot {
    var requestStatus: RequestStatus { isLoading ? .inProgress : isLoaded || failure != nil ? .done : .none }
}
// end
