import PagedRepository

enum PagingList {
    static func list(_ store: SQLitePageStore) throws -> PagedList<Item> {
        // snippet: first
        let source = ItemSource.offsets(pageSize: 20) { offset, limit in
            try await API.list(limit: limit, offset: offset)
        }
        let list = ListRepository(storage: store, source: source).list(QueryKey("items"))
        // end
        return list
    }

    static func afterLast() throws -> ItemSource<Item> {
        // snippet: lastItem
        let source = ItemSource.afterLast(pageSize: 20) { last, limit in
            try await API.items(after: last, limit: limit)
        }
        // end
        return source
    }

    static func ifStale(_ list: PagedList<Item>) async throws {
        // snippet: stale
        try await list.load(.refreshIfStale)  // no request if page one was fetched within the last minute
        // end
    }

    @MainActor static func model(_ list: PagedList<Item>, _ index: Int) async {
        // snippet: model
        let model = PagedListModel(list)
        let running = Task { await model.run() }  // the first request, and everything that follows
        model.itemAppeared(at: index)  // a row appeared on the screen
        await model.refresh()  // the user pulled to refresh
        await model.retry()  // the user pressed "Retry"
        // end
        running.cancel()
    }

    @MainActor static func screen(_ model: PagedListModel<Item>, _ screen: any Screen) {
        // snippet: states
        switch model.displayState {
        case .nothing, .loadingFirst: screen.showLoading()
        case .empty: screen.showEmpty()
        case .unusable: screen.showUnusable()  // rows are there, and this version cannot show them
        case .firstFailed(let failure): screen.showError(failure)
        case .loadingNext: screen.showItems(model.items, footer: .loading)
        case .nextFailed(let failure): screen.showItems(model.items, footer: .error(failure))
        case .items, .refreshing, .refreshFailed:
            screen.showItems(model.items, footer: model.hasMore ? .none : .disabled)
        }
        // end
    }

    enum Footer {
        case none, loading, disabled
        case error(ListFailure)
    }

    @MainActor protocol Screen {
        func showLoading()
        func showEmpty()
        func showUnusable()
        func showError(_ failure: ListFailure)
        func showItems(_ items: PagedItems<Item>, footer: Footer)
    }
}
