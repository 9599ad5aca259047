#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("The caller's settings: each is confirmed, or refused in one line that names it")
struct SettingsTests {
    /// Pages of ten by `page`, with everything around the items that a setting may name.
    private static let numbered = ScriptedOrigin { url, _ in
        let page = url.number("page") ?? 1, size = url.number("per_page") ?? 10, start = min((page - 1) * size, 45)
        return .json(
            #"{"items":[\#(objects(from: start, size, of: 45))],"page":\#(page),"per_page":\#(size),"total":45}"#)
    }
    /// The same as a bare array.
    private static let bare = ScriptedOrigin { url, _ in
        let start = min(((url.number("page") ?? 1) - 1) * 10, 45)
        return .json("[\(objects(from: start, 10, of: 45))]")
    }
    private static let tokens = ScriptedOrigin { url, _ in
        let start = url.number("cursor") ?? 0, end = min(start + 10, 45)
        return .json(#"{"items":[\#(objects(start..<end))],"next_cursor":\#(end < 45 ? "\(end)" : "null")}"#)
    }

    private static func set(
        _ setting: HTTPSourceConfiguration.Setting, _ value: String, _ configuration: inout HTTPSourceConfiguration
    ) {
        switch setting {
        case .id: configuration.id = JSONPointer(value)
        case .total: configuration.total = .init(value)
        case .next: configuration.next = .init(value)
        case .hasMore: configuration.hasMore = JSONPointer(value)
        case .pageParameter: configuration.pageParameter = value
        case .offsetParameter: configuration.offsetParameter = value
        case .cursorParameter: configuration.cursorParameter = value
        case .limitParameter: configuration.limitParameter = value
        case _: configuration.firstPage = Int(value)
        }
    }

    @Test(
        "A mistyped setting is refused in one line that names it, and nothing is stored",
        arguments: [
            (.id, "/idd"), (.total, "/totall"), (.total, "header:X-Foo"),
            (.next, "/nextt"), (.hasMore, "/foo"), (.pageParameter, "pag"), (.offsetParameter, "foo"),
            (.cursorParameter, "curs"), (.limitParameter, "foo"), (.firstPage, "0"),
        ] as [(HTTPSourceConfiguration.Setting, String)])
    func mistyped(setting: HTTPSourceConfiguration.Setting, value: String) async throws {
        for origin in [Self.numbered, Self.bare, Self.tokens] {
            let source = try scripted("http://h/api", origin) { Self.set(setting, value, &$0) }
            let failure = await #expect(throws: FetchFailure.self) {
                _ = try await source.first(size: setting == .limitParameter ? 5 : nil)
            }
            #expect(failure?.failureClass == .rejected && failure?.isRetryable == false)
            #expect(
                failure?.message.hasPrefix("\(setting) = \(value) is not confirmed: ") == true,
                "\(failure?.message ?? "")"
            )
            #expect(source.summary == nil, "nothing is remembered")
        }
    }

    @Test(
        "A setting that page one or a second answer confirms is used",
        arguments: [
            (.id, "/id"), (.total, "/total"), (.pageParameter, "page"),
            (.limitParameter, "per_page"), (.firstPage, "1"),
        ] as [(HTTPSourceConfiguration.Setting, String)])
    func confirmed(setting: HTTPSourceConfiguration.Setting, value: String) async throws {
        let source = try scripted("http://h/api", Self.numbered) { Self.set(setting, value, &$0) }
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == .grid(size: 10))
    }

    @Test("A named total that counts the page is refused if more items follow")
    func totalOfThePage() async throws {
        let source = try scripted(
            "http://h/api",
            ScriptedOrigin { _, _ in .json(#"{"items":[\#(objects(0..<10))],"count":10,"has_more":true}"#) }
        ) { $0.total = .init("/count") }
        await #expect(throws: FetchFailure.self) { _ = try await source.first() }
    }

    @Test("A full page is not the whole list when the caller names its size as the total")
    func sizeAsTotal() async throws {
        let source = try scripted(
            "http://h/api", ScriptedOrigin { _, _ in .json(#"{"items":[\#(objects(0..<10))],"limit":10}"#) }
        ) { $0.total = .init("/limit") }
        #expect(try await source.first().hasMore == true)
    }

    @Test("A parameter for the next page is confirmed when the list ends with page one and the next page has no item")
    func short() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(((url.number("seite") ?? 1) - 1) * 10, 7)
            return .json("[\(objects(from: start, 10, of: 7))]")
        }
        let source = try scripted("http://h/api", origin) { $0.pageParameter = "seite" }
        let page = try await source.first()
        #expect(page.content.count == 7 && page.hasMore != true)
        let wrong = try scripted("http://h/api", origin) { $0.pageParameter = "page" }
        await #expect(throws: FetchFailure.self) { _ = try await wrong.first() }
    }

    @Test("A place of the next page that a short page one lacks is reported, and is examined again")
    func shortWithoutNext() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"items":[\#(objects(0..<7))]}"#) }
        let source = try scripted("http://h/api", origin) { $0.next = .init("/nextt") }
        let page = try await source.first()
        #expect(
            page.detectedPaging?.warnings.contains {
                $0.hasPrefix("HTTPSourceConfiguration.next = /nextt is not confirmed yet")
            } == true)
        #expect(page.detectedPaging?.source.contains("isProvisional") == true)
    }

    // MARK: Styles that the caller names

    @Test(
        "A full page is not the whole list when the named style finds no parameter, token or link",
        arguments: HTTPSourceConfiguration.Paging.allCases)
    func namedStyle(style: HTTPSourceConfiguration.Paging) async throws {
        let answers: [@Sendable (OriginURL) -> HTTPPageResponse] = [
            { _ in .json(#"{"data":[\#(objects(0..<10))]}"#) },
            { _ in .json(#"{"data":[\#(objects(0..<10))],"total":45}"#) },
            { url in url.parameters.isEmpty ? .json(#"{"data":[\#(objects(0..<10))]}"#) : HTTPPageResponse(status: 400)
            },
            { url in .json(#"{"data":[\#(url.parameters.isEmpty ? objects(0..<10) : "")]}"#) },
        ]
        for (index, answer) in answers.enumerated() {
            let source = try scripted("http://h/api", ScriptedOrigin { url, _ in answer(url) }) { $0.paging = style }
            let page = try await source.first()
            #expect(source.access == .single)
            let isPart = page.hasMore == true || page.total.count ?? 0 > page.content.count
            #expect(isPart == (style != .none || index == 1), "\(page.detectedPaging?.warnings ?? [])")
        }
    }

    @Test("A list shorter than a page may be whole, unless all parameters of its style return page one again")
    func namedStyleShort() async throws {
        for style in HTTPSourceConfiguration.Paging.allCases {
            let source = try scripted(
                "http://h/api", ScriptedOrigin { _, _ in .json(#"{"data":[\#(objects(0..<7))]}"#) }
            ) { $0.paging = style }
            let isOpen = [.offset, .page, .keyset].contains(style)
            #expect(try await source.first().hasMore == (isOpen ? true : nil), "\(style)")
            let ended = try scripted(
                "http://h/api",
                ScriptedOrigin { url, _ in
                    let start = url.number("offset") ?? ((url.number("page") ?? 1) - 1) * 10
                    let isPlace = url.parameters.allSatisfy { ["offset", "page"].contains($0.plainName) }
                    return .json(#"{"data":[\#(isPlace ? objects(min(start, 7)..<7) : "")]}"#)
                }
            ) { $0.paging = style }
            #expect(try await ended.first().hasMore != true, "nothing follows page one")
        }
    }

    @Test("An unproven list of one full page is complete once the caller disables paging")
    func none() async throws {
        let origin = ScriptedOrigin { _, _ in .json("[\(objects(0..<10))]") }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        var outcomes: [SyncReport.Outcome] = []
        for style in [HTTPSourceConfiguration.Paging.auto, .keyset, .none] {
            let source = try scripted("http://h/api", origin) { $0.paging = style }
            outcomes.append(
                try await ListSync(
                    storage: storage, source: source, key: QueryKey("k"), options: SyncOptions(), clock: clock,
                    jitter: { 0.5 }
                ).run().outcome)
        }
        #expect(outcomes == [.unproven, .unproven, .complete])
    }

    /// Synchronises as the tool does. Settings that the caller does not name are those of the stored list.
    private func run(
        _ origin: ScriptedOrigin, _ storage: MemoryStorage, _ clock: ManualClock,
        _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }
    ) async throws -> SyncReport {
        var configuration = HTTPSourceConfiguration(url: "http://h/api")
        change(&configuration)
        if let stored = try await storage.query(QueryKey("k"))?.source {
            HTTPSource.restoreRequest(inStored: stored, into: &configuration)
        }
        var options = SyncOptions()
        options.reportsOutline = true
        return try await ListSync(
            storage: storage, source: try HTTPSource(configuration, transport: origin), key: QueryKey("k"),
            options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

    @Test("A style that the caller named once stays with the list until another one is named (R47)")
    func keptStyle() async throws {
        let origin = ScriptedOrigin { _, _ in .json("[\(objects(0..<10))]") }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        #expect(try await run(origin, storage, clock) { $0.paging = .none }.outcome == .complete)
        let before = origin.requests.count
        #expect(try await run(origin, storage, clock).outcome == .complete)
        #expect(origin.requests.count == before + 1)
        #expect(try await run(origin, storage, clock) { $0.offsetParameter = "from" }.outcome != .complete)
        #expect(try await run(origin, storage, clock).outcome == .complete, "a refused setting is not kept")
        #expect(try await run(origin, storage, clock) { $0.detectsAnew = true }.outcome == .unproven)
        #expect(try await run(origin, storage, clock).outcome == .unproven)
    }

    @Test("A place that the caller named is kept although the paging was not proven, and detection starts from it")
    func keptPlace() async throws {
        let isDown = Mutex(true)
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 45)
            if start > 0, isDown.withLock({ $0 }) { return HTTPPageResponse(status: 404) }
            return .json(
                #"{"users":[\#(objects(from: start, 20, of: 45))],"groups":[\#(objects(100..<130))]}"#)
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        #expect(try await run(origin, storage, clock).outcome == .failed, "two lists")
        #expect(try await run(origin, storage, clock) { $0.items = JSONPointer("/users") }.outcome == .unproven)
        isDown.withLock { $0 = false }
        let later = try await run(origin, storage, clock)
        #expect(later.outcome == .complete, "\(later.warnings) \(later.headFailure?.message ?? "")")
        #expect(later.list?.coverage.count == 45)
    }

    @Test("The stored text keeps all settings, and later settings take precedence")
    func keptText() throws {
        var all = HTTPSourceConfiguration(url: "http://h/api")
        all.items = JSONPointer("/a&id=~1b%26/%")
        all.id = JSONPointer("")
        all.total = .init("header:X-Total")
        all.next = .init("/links[rel=next]")
        all.hasMore = JSONPointer("/more")
        all.limitParameter = "page[size]"
        all.cursorParameter = "a=b&c"
        all.firstPage = 0
        all.overlap = 0
        all.paging = .cursor
        let text = try #require(all.saying)
        var kept = HTTPSourceConfiguration(url: "http://h/api")
        kept.keep(saying: text)
        #expect(kept.saying == text)
        var other = HTTPSourceConfiguration(url: "http://h/api")
        other.paging = .offset
        other.items = JSONPointer("/b")
        other.keep(saying: text)
        #expect(other.cursorParameter == nil && other.next == nil, "they belong to the earlier style")
        #expect(other.items == JSONPointer("/b") && other.hasMore == JSONPointer("/more"))
        var placed = HTTPSourceConfiguration(url: "http://h/api")
        placed.pageParameter = "p"
        placed.keep(saying: text)
        #expect(placed.paging == .auto && placed.overlap == 0)
    }

    @Test("A total that the caller names for a stored list is refused if it is smaller than the list")
    func smallerTotal() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 45), end = min(start + 20, 45)
            return .json(#"{"items":[\#(objects(start..<end))],"limit":26,"total":45}"#)
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        func run(_ change: @Sendable (inout HTTPSourceConfiguration) -> Void) async throws -> SyncReport {
            try await ListSync(
                storage: storage, source: try scripted("http://h/api", origin, change), key: QueryKey("k"),
                options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
        }
        #expect(try await run { _ in }.outcome == .complete)
        let wrong = try await run { $0.total = .init("/limit") }
        #expect(
            wrong.headFailure?.message.contains("45 items are stored") == true, "\(wrong.headFailure?.message ?? "")")
    }
}
#endif
