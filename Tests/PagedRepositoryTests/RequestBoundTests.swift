import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// Origins whose answers never settle, or answer another position than the requested one.
@Suite("Bounds on the requests of a run", .timeLimit(.minutes(5)))
struct RequestBoundTests {
    private let bench = BadInputBench()

    private func sync(_ source: ComputedSource, _ work: SyncOptions.Work = .everything) async throws -> SyncReport {
        var options = SyncOptions()
        options.overlap = 0
        options.work = work
        return try await ListSync(
            storage: bench.storage, source: source, key: bench.key, options: options,
            clock: PatientClock(bench.clock), jitter: { 0.5 }
        ).run()
    }

    /// The ids of the held items, by position.
    private var held: [Int: String] {
        get async throws {
            let record = try #require(try await bench.storage.query(bench.key))
            var held: [Int: String] = [:]
            for part in try await bench.storage.window(of: record.id, 0..<1_000)?.parts ?? [] where part.isHeld {
                for index in 0..<part.content.count { held[part.offset + index] = part.content.ids[index] }
            }
            return held
        }
    }

    private static func position(_ request: PageRequest) -> Int {
        if case .offset(let offset) = request.target { offset } else { 0 }
    }

    // MARK: The last full page in place of a position close to the end

    /// Returns the answer of an origin of 35 items.
    private static func clamped(_ request: PageRequest) -> PageAnswer {
        let start = min(position(request), 25)
        return .page(FetchedPage(content: named(start..<start + 10), total: .exact(35)))
    }

    @Test(
        "The last full page is stored at its own positions, although no item before it is held (R24)",
        arguments: [PagingAccess.offsets, .grid(size: 10)])
    func cold(access: PagingAccess) async throws {
        let source = ComputedSource(access) { request, _ in RequestBoundTests.clamped(request) }
        #expect(try await sync(source, .positions(30..<35)).outcome == .complete)
        let held = try await held
        for (position, id) in held { #expect(id == "i\(position)") }
        #expect((30..<35).allSatisfy { held[$0] != nil })
        #expect(source.usage.requests <= 4)
    }

    @Test("The last full page is requested again only after the slow page before it has arrived (R24)")
    func slow() async throws {
        let source = ComputedSource(.offsets) { request, _ in
            if request.target == .offset(20) { for _ in 0..<2_000 { await Task.yield() } }
            return RequestBoundTests.clamped(request)
        }
        #expect(try await sync(source).outcome == .complete)
        #expect(try await held == Dictionary(uniqueKeysWithValues: (0..<35).map { ($0, "i\($0)") }))
        #expect(source.usage.requests <= 6)
    }

    // MARK: Answers that differ each time

    @Test("A run over a page that stays short while a member of its items changes sends less than 100 requests (R53)")
    func volatileMember() async throws {
        let source = ComputedSource(.offsets) { request, number in
            guard number < 300 else { throw FetchFailure(.rejected, "too many requests", isRetryable: false) }
            let start = RequestBoundTests.position(request)
            let items = (start..<max(start, min(start + 10, 40))).filter { $0 != 25 }.map { place in
                RawItem(payload: Array(#"{"id":"i\#(place)","at":\#(number)}"#.utf8), id: "i\(place)")
            }
            return .page(FetchedPage(content: PageContent(items), total: .exact(40)))
        }
        _ = try await sync(source)
        #expect(source.usage.requests < 100)
        #expect(try await held.values.contains("i39"))
    }

    @Test("A run whose page one repeats another id each time sends less than 200 requests (R25)")
    func otherRepeats() async throws {
        let source = ComputedSource(.offsets) { request, number in
            guard number < 300 else { throw FetchFailure(.rejected, "too many requests", isRetryable: false) }
            let start = RequestBoundTests.position(request)
            var items = names(start..<max(start, min(start + 10, 40)))
            if start == 0 { items.append(items[number % 10]) }
            return .page(FetchedPage(content: named(items), total: .exact(40)))
        }
        _ = try await sync(source)
        #expect(source.usage.requests < 200)
        #expect(try await held.count >= 10)
    }
}
