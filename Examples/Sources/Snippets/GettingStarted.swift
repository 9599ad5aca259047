import PagedRepository
import PagedRepositoryTesting

enum GettingStarted {
    struct Event: Codable, Identifiable, Hashable, Sendable {
        var id: Int
        var title: String
    }

    static func tested(_ events: [Event]) async throws -> Bool {
        // snippet: test
        let origin = ItemOrigin(events, pageSize: 10)
        let clock = ManualClock()
        let list = ListRepository<Event>(
            storage: MemoryStorage(clock: clock), codec: JSONItemCodec(), clock: clock, source: { _ in origin }
        ).list("events")
        try await list.load()
        origin.fail(.status(403))
        list.itemAppeared(at: 9)
        await list.settled()
        // end
        return list.current.failure?.kind == .next && origin.requests.count == 2
    }

    static func search(
        _ repository: ListRepository<Event>, _ texts: AsyncStream<String>,
        _ source: @escaping @Sendable (String) -> ItemSource<Event>
    ) async {
        // snippet: search
        var options = PagedListOptions()
        options.isEphemeral = true
        var searching: Task<Void, Never>?
        for await text in texts {
            searching?.cancel()  // ends the load for the previous text
            searching = Task { [options] in
                do {
                    try await Task.sleep(for: .milliseconds(300))  // until the user pauses
                    let list = repository.list(QueryKey("search \(text)"), source: source(text), options: options)
                    try await list.load()
                    show(list.current.items)
                } catch {}  // cancelled by the next text, or shown as `list.current.failure`
            }
        }
        // end
    }

    static func whole(_ list: PagedList<Event>) async throws {
        // snippet: whole
        while list.current.hasMore, !list.current.isAtItemLimit { try await list.loadNext() }
        // end
    }

    static func undecodable(_ snapshot: ListSnapshot<Event>) {
        // snippet: undecodable
        if !snapshot.undecodable.isEmpty { print("left out: positions \(snapshot.undecodable)") }
        // end
    }

    static func placeholder() -> JSONItemCodec<Event> {
        // snippet: placeholder
        let codec = JSONItemCodec<Event>(
            undecodable: .placeholder { _, _ in Event(id: -1, title: "This event needs a newer version.") })
        // end
        return codec
    }

    static func validators(_ api: any ConditionalAPI) -> ItemSource<Event> {
        // snippet: validators
        let source = ItemSource<Event>.offsets(pageSize: 20) { offset, size -> ItemPage<Event> in
            let answer = try await api.events(offset, size, headers: ConditionalRequest.headers)
            if answer.status == 304 { return .notModified() }
            var page = ItemPage(items: answer.events, total: answer.total)
            page.entityTag = answer.entityTag
            return page
        }
        // end
        return source
    }

    protocol ConditionalAPI: Sendable {
        func events(_ offset: Int, _ size: Int, headers: [String: String]) async throws -> (
            status: Int, events: [Event], total: Int, entityTag: String?
        )
    }
}
