import HTTPPageSource
import PagedRepository

enum PagingStyles {
    static func sources() throws -> [ItemSource<Item>] {
        // snippet: closures
        let offsets = ItemSource.offsets(pageSize: 50) { offset, size in
            try await API.items(offset: offset, size: size)
        }
        let pages = ItemSource.pages(size: 50, firstNumber: 1) { number, size in
            try await API.items(offset: (number - 1) * size, size: size)
        }
        let keyset = ItemSource.afterLast(pageSize: 50) { last, size in
            try await API.items(after: last, limit: size)
        }
        // end
        return [offsets, pages, keyset]
    }

    static func http(_ store: SQLitePageStore) async throws {
        // snippet: http
        let transport = AsyncHTTPTransport()
        let url = "https://api.example.com/events?kind=concert"
        let source = try HTTPSource(HTTPSourceConfiguration(url: url), transport: transport)
        let events = ListRepository(storage: store, codec: JSONItemCodec<Item>()) { _ in source }
        if let key = HTTPSource.key(for: url) {
            try await events.list(key).load()
        }
        await transport.close()  // when the program no longer needs it
        // end
    }

    static func said() -> HTTPSourceConfiguration {
        // snippet: said
        var origin = HTTPSourceConfiguration(url: "https://api.example.com/events")
        origin.paging = .cursor
        origin.items = JSONPointer("/data")
        origin.next = .body(JSONPointer("/meta/next")!)
        origin.cursorParameter = "after"
        origin.headers = [HTTPField("Authorization", "Bearer …")]
        // end
        return origin
    }
}
