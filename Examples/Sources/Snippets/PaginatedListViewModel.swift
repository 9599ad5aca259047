import PagedRepository

enum PaginatedListViewModel {
    static func list(_ store: SQLitePageStore) throws -> PagedList<String> {
        // snippet: first
        let source = ItemSource.cursors { (start: Int?, _) in
            let page = try await API.names(from: start ?? 0)
            return CursorPage(items: page, next: page.isEmpty ? nil : (start ?? 0) + page.count)
        }
        let list = ListRepository(storage: store, source: source).list(QueryKey("names"))
        // end
        return list
    }

    static func links(_ fetch: @escaping @Sendable (String?) async throws -> (items: [Item], next: String?))
        -> ItemSource<Item>
    {
        // snippet: links
        let source = ItemSource.links { link in
            let page = try await fetch(link)
            return CursorPage(items: page.items, next: page.next)
        }
        // end
        return source
    }

    static func observed(_ list: PagedList<String>) async {
        // snippet: items
        for await snapshot in list.snapshots { show(snapshot.items) }
        // end
    }

    static func retry(_ list: PagedList<String>, _ message: (any Error) -> Void) async throws {
        // snippet: retry
        do {
            try await list.loadNext()
        } catch let failure as ListFailure {
            message(failure.cause ?? failure)
            try await list.loadNext()  // the same page again
        }
        // end
    }
}

// snippet: properties
extension ListSnapshot {
    var loading: Bool { isLoading }
    var exhausted: Bool { isAtEnd }
    var lastError: (any Error)? { failure?.cause ?? failure }
}
// end
