import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

private struct Event: Codable, Identifiable, Hashable, Sendable {
    var id: Int
    var title: String

    static func some(_ numbers: Range<Int>) -> [Event] { numbers.map { Event(id: $0, title: "event \($0)") } }
}

// This file imports no `PageModel`: `QueryKey`, `FetchFailure` and `ListTotal` come with `PagedRepository`.
@Suite("Sources, codecs, updates and errors of a program", .timeLimit(.minutes(20)))
struct EmbeddingTests {
    private let clock = ManualClock()
    private let key = QueryKey("events")

    private func repository(
        _ source: any PageSource, codec: any ItemCodec<Event> = JSONItemCodec(), storage: MemoryStorage? = nil
    ) -> ListRepository<Event> {
        ListRepository(
            storage: storage ?? MemoryStorage(clock: clock), codec: codec, clock: clock, source: { _ in source })
    }

    // MARK: The test kit

    @Test("A scripted source answers with the test's own items")
    func scripted() async throws {
        let origin = ScriptedSource(pages: [Event.some(0..<3), Event.some(3..<5)])
        let list = repository(origin).list(key)
        try await list.load()
        try await list.loadNext()
        #expect(Array(list.current.items) == Event.some(0..<5) && list.current.isAtEnd)
        #expect(origin.remaining.isEmpty && origin.unscripted.isEmpty)
    }

    @Test("An item origin shows its changes to the next request, and fails as the test says")
    func itemOrigin() async throws {
        let origin = ItemOrigin(Event.some(0..<48), pageSize: 10)
        let list = repository(origin).list(key)
        try await list.load()
        origin.fail(.status(503))
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        try await list.retry()
        #expect(origin.requests.map(\.target) == [.first, .offset(10), .offset(10)])
        origin.items.insert(Event(id: 100, title: "new"), at: 0)
        try await list.refresh()
        #expect(list.current.items.first?.id == 100 && list.current.items.count == 21)
    }

    @Test("settled() returns after prefetches that no caller waits for")
    func settled() async throws {
        let list = repository(ItemOrigin(Event.some(0..<48), pageSize: 10)).list(key)
        await list.settled()
        try await list.load()
        list.itemAppeared(at: 9)
        await list.settled()
        #expect(list.current.items.count > 10 && !list.current.isLoading)
    }

    // MARK: Lists of their own kind

    @Test("A list with its own source and options does not change the other lists of its repository")
    func ownSource() async throws {
        let repository = repository(ItemOrigin(Event.some(0..<48), pageSize: 10))
        var options = PagedListOptions()
        options.itemLimit = 5
        let other = ItemOrigin(Event.some(500..<600), pageSize: 20)
        let list = repository.list("others", source: other, options: options)
        try await list.load()
        #expect(Array(list.current.items) == Event.some(500..<505) && list.current.isAtItemLimit)
        #expect(try await repository.page("others", offset: 40, limit: 5).items.first?.id == 540)
        let usual = repository.list(key)
        #expect(try await usual.load() == .loaded(10))
        #expect(usual.current.items.first?.id == 0)
    }

    @Test("An ephemeral list shows its items, loads further pages, and leaves no record in the store")
    func ephemeral() async throws {
        let storage = MemoryStorage(clock: clock)
        let origin = ItemOrigin(Event.some(0..<25), pageSize: 10)
        var options = PagedListOptions()
        options.isEphemeral = true
        let repository = repository(origin, storage: storage)
        let list = repository.list("search: a", source: origin, options: options)
        try await list.load()
        #expect(list.current.items.count == 10 && !list.current.isStored)
        while list.current.hasMore { try await list.loadNext() }
        #expect(Array(list.current.items) == Event.some(0..<25))
        #expect(try await storage.records().isEmpty)
    }

    /// Counts its instances.
    ///
    /// State: the count, under a mutex.
    private final class CountedOrigin: PageSource {
        static let alive = Mutex(0)

        private let origin = ItemOrigin(Event.some(0..<5), pageSize: 10)

        init() { CountedOrigin.alive.withLock { $0 += 1 } }

        deinit { CountedOrigin.alive.withLock { $0 -= 1 } }

        var access: PagingAccess { origin.access }
        var usage: SourceUsage { origin.usage }

        func fetch(_ request: PageRequest) async throws -> PageAnswer { try await origin.fetch(request) }
    }

    @Test("Ephemeral lists leave no source behind, as while a user types, and one in use keeps its source")
    func ephemeralSources() async throws {
        let repository = repository(ItemOrigin(Event.some(100..<105), pageSize: 10))
        var options = PagedListOptions()
        options.isEphemeral = true
        let kept = repository.list("kept", source: CountedOrigin(), options: options)
        for number in 0..<1_000 {
            _ = repository.list(QueryKey("search \(number)"), source: CountedOrigin(), options: options)
        }
        #expect(CountedOrigin.alive.withLock { $0 } < 200)
        try await kept.load()
        #expect(Array(kept.current.items) == Event.some(0..<5))
        let window = try await repository.page("kept", offset: 0, limit: 5)
        #expect(Array(window.items) == Event.some(0..<5))
    }

    @Test("A list that is not in use any more leaves no ephemeral options to a later list with its key")
    func ephemeralIsOver() async throws {
        let storage = MemoryStorage(clock: clock)
        let repository = repository(ItemOrigin(Event.some(0..<48), pageSize: 10), storage: storage)
        var options = PagedListOptions()
        options.isEphemeral = true
        for gone in [key, "window"] {
            _ = repository.list(gone, source: ItemOrigin(Event.some(500..<505), pageSize: 10), options: options)
        }
        let usual = repository.list(key)
        try await usual.load()
        #expect(usual.current.isStored && Array(usual.current.items) == Event.some(0..<10))
        let window = try await repository.page("window", offset: 0, limit: 10)
        #expect(window.isStored && Array(window.items) == Event.some(0..<10))
        #expect(try await storage.records().count == 2)
    }

    // MARK: Differences

    @Test("Updates describe the first items, next pages and refreshes for a table view")
    func updates() async throws {
        let origin = ItemOrigin(Event.some(0..<30), pageSize: 10)
        let list = repository(origin).list(key)
        var updates = list.updates.makeAsyncIterator()
        var shown: [Event] = []
        func apply(_ update: ListUpdate<Event>) {
            for index in update.difference.removals.reversed() { shown.remove(at: index) }
            for index in update.difference.insertions { shown.insert(update.snapshot.items[index], at: index) }
            for index in update.difference.updates { shown[index] = update.snapshot.items[index] }
            #expect(shown == Array(update.snapshot.items))
        }
        try await list.load()
        while shown.count != 10, let update = await updates.next() { apply(update) }
        try await list.loadNext()
        while shown.count != 20, let update = await updates.next() { apply(update) }
        origin.items.removeSubrange(2..<4)
        origin.items[0].title = "edited"
        try await list.refresh()
        while shown.count != 18, let update = await updates.next() { apply(update) }
        #expect(shown[0].title == "edited" && shown[2].id == 4)
    }

    @Test("Differences rebuild the new items from the old ones", arguments: 0..<40)
    func differences(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        let ids = Array(0..<30).shuffled(using: &chance)
        let old = Array(ids.prefix(Int.random(in: 0...30, using: &chance))).map { Event(id: $0, title: "a") }
        let new = ids.shuffled(using: &chance).prefix(Int.random(in: 0...30, using: &chance)).map {
            Event(id: $0, title: $0 % 3 == 0 ? "b" : "a")
        }
        let difference = ItemsDifference(from: PagedItems([old]), to: PagedItems([Array(new)]))
        var shown = old
        for index in difference.removals.reversed() { shown.remove(at: index) }
        for index in difference.insertions { shown.insert(new[index], at: index) }
        for index in difference.updates { shown[index] = new[index] }
        #expect(shown == Array(new))
    }

    // MARK: Codecs

    @Test("A codec with the program's own encoder and decoder stores and reads dates in its own way")
    func ownCoders() throws {
        struct Dated: Codable, Equatable { var dueDate: Date }
        let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
        encoder.dateEncodingStrategy = .iso8601
        decoder.dateDecodingStrategy = .iso8601
        let codec = JSONItemCodec<Dated>(encoder: encoder, decoder: decoder)
        let value = Dated(dueDate: Date(timeIntervalSince1970: 86_400))
        let bytes = try codec.encode(value)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"dueDate":"1970-01-02T00:00:00Z"}"#)
        #expect(try codec.decode(bytes[...]) == value)
    }

    @Test("Items of an earlier format are read through a migration, while the origin is unreachable")
    func migration() async throws {
        struct Earlier: Codable, Identifiable, Sendable {
            var id: Int
            var name: String
        }
        let storage = MemoryStorage(clock: clock)
        let before = ItemSource<Earlier>.offsets(pageSize: 10) { offset, size in
            (offset..<min(offset + size, 5)).map { Earlier(id: $0, name: "event \($0)") }
        }
        try await ListRepository(storage: storage, source: before, clock: clock).list(key).load()
        let away = ItemOrigin(Event.some(0..<1))
        away.fail(.status(503), .status(503))
        let codec = JSONItemCodec<Event>(version: 2).migrating(from: JSONItemCodec<Earlier>()) {
            Event(id: $0.id, title: $0.name)
        }
        let list = repository(away, codec: codec, storage: storage).list(key)
        try await list.load(.originFirst)
        #expect(Array(list.current.items) == Event.some(0..<5))
    }

    // MARK: Closures with HTTP's knowledge

    @Test("A closure source receives the validator of page one, and confirms the list with notModified")
    func notModified() async throws {
        let tags = Mutex<[String?]>([])
        let source = ItemSource<Event>.offsets(pageSize: 10) { offset, size -> ItemPage<Event> in
            let tag = ConditionalRequest.headers["If-None-Match"]
            if offset == 0 { tags.withLock { $0.append(tag) } }
            if tag == #""v1""# { return .notModified() }
            var page = ItemPage(items: Event.some(offset..<min(offset + size, 25)), total: 25)
            page.entityTag = #""v1""#
            page.freshFor = .seconds(600)
            return page
        }
        let list = repository(source).list(key)
        try await list.load()
        #expect(list.current.freshness == .fresh)
        clock.advance(by: .seconds(120))
        #expect(try await list.load(.refreshIfStale) == .cached, "fresh for ten minutes, as the origin says")
        #expect(try await list.refresh() == .upToDate)
        #expect(tags.withLock { $0 } == [nil, #""v1""#])
        #expect(list.current.items.count == 10)
    }

    @Test("A closure that forbids storing keeps its items in memory, and an unasked notModified is a failure")
    func noStore() async throws {
        let storage = MemoryStorage(clock: clock)
        let source = ItemSource<Event>.offsets(pageSize: 10) { offset, size in
            var page = ItemPage(items: Event.some(offset..<min(offset + size, 25)), total: 25)
            page.mayBeStored = false
            return page
        }
        let list = repository(source, storage: storage).list(key)
        try await list.load()
        #expect(list.current.items.count == 10 && !list.current.isStored)
        let odd = ItemSource<Event>.offsets(pageSize: 10) { _, _ in ItemPage<Event>.notModified() }
        let failure = await #expect(throws: ListFailure.self) { try await repository(odd).list("odd").load() }
        #expect(failure?.failure.failureClass == .undecodable)
    }

    @Test("A closure states how long its page one is fresh")
    func freshFor() async throws {
        let requests = Mutex(0)
        let source = ItemSource<Event>.offsets(pageSize: 10) { offset, size in
            requests.withLock { $0 += 1 }
            var page = ItemPage(items: Event.some(offset..<min(offset + size, 25)), total: 25)
            page.freshFor = .seconds(600)
            return page
        }
        let list = repository(source).list(key)
        try await list.load()
        clock.advance(by: .seconds(599))
        #expect(try await list.load(.refreshIfStale) == .cached)
        clock.advance(by: .seconds(2))
        try await list.load(.refreshIfStale)
        #expect(requests.withLock { $0 } == 2)
    }

    // MARK: Errors

    @Test("Errors say in one line what failed, and keep the source's own words only where the program allows it")
    func errors() async throws {
        struct Mine: Error, CustomStringConvertible { var description: String { "token ABC\nof ann" } }
        let fetch: @Sendable (Int, Int) async throws -> [Event] = { _, _ in throw Mine() }
        let source = ItemSource<Event>.offsets(pageSize: 10, fetch: fetch)
        let quiet = await #expect(throws: ListFailure.self) { try await repository(source).list(key).load() }
        #expect(quiet?.description == "the list failed to load: the source threw Mine")
        #expect((quiet as (any LocalizedError)?)?.errorDescription == quiet?.description)
        #expect(quiet?.cause is Mine)
        var options = PagedListOptions()
        options.sync.recordsErrorText = true
        let list = repository(source).list("other", source: source, options: options)
        let told = await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(told?.failure.message == "the source threw Mine: token ABC of ann")
        #expect("\(FetchFailure.status(503))" == "server: the origin answered 503")
        #expect("\(StorageError(.busy, "the store is busy"))" == "busy: the store is busy")
    }
}
