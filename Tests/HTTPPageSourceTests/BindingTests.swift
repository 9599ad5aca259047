#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("A list is bound to its URL, and a setting is used only after it is confirmed (R47)")
struct BindingTests {
    private let clock = ManualClock()
    private let storage: MemoryStorage
    private let origin = ScriptedOrigin { url, _ in
        switch url.path {
        case "/one":
            let start = url.number("offset") ?? 0
            return .json(
                #"{"total":45,"size":20,"items":[\#(objects(from: start, 20, of: 45))],"extra":[{"id":900}]}"#)
        case _: return .json(#"{"total":2,"items":[\#(objects(100..<102))]}"#)
        }
    }

    init() { storage = MemoryStorage(clock: clock) }

    private func run(_ url: String, _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }) async throws
        -> SyncReport
    {
        var options = SyncOptions()
        options.reportsOutline = true
        return try await ListSync(
            storage: storage, source: try scripted(url, origin, change), key: QueryKey("named"), options: options,
            clock: clock, jitter: { 0.5 }
        ).run()
    }

    private func scripted(
        _ url: String, _ origin: ScriptedOrigin, _ change: (inout HTTPSourceConfiguration) -> Void
    ) throws -> HTTPSource {
        var configuration = HTTPSourceConfiguration(url: url)
        change(&configuration)
        return try HTTPSource(configuration, transport: origin)
    }

    @Test("Another URL under the key is refused and changes nothing, and rebinding binds the list to it")
    func anotherURL() async throws {
        #expect(try await run("http://h/one").list?.coverage.count == 45)
        let before = origin.requests.count
        let refused = try await run("http://h/two")
        #expect(refused.outcome == .failed)
        #expect(refused.headFailure?.message.hasPrefix("the list belongs to http://h/one; ") == true)
        #expect(origin.requests.count == before)
        #expect(try await run("http://h/one?limit=20").list?.coverage.count == 45, "a page size is no other URL")
        let bound = try await run("http://h/two") { $0.rebinds = true }
        #expect(bound.outcome == .complete)
        #expect(bound.list?.coverage.count == 2)
        #expect(try await run("http://h/one").outcome == .failed)
    }

    @Test(
        "A setting that contradicts the stored list fails the run and changes nothing",
        arguments: ["page", "keyset", "items", "cursor", "id", "total", "page-param", "next"])
    func unprovenSetting(setting: String) async throws {
        _ = try await run("http://h/one")
        let wrong = try await run("http://h/one") {
            switch setting {
            case "page": $0.paging = .page
            case "keyset": $0.paging = .keyset
            case "cursor": $0.paging = .cursor
            case "id": $0.id = JSONPointer("/nope")
            case "total": $0.total = .init("/size")
            case "page-param": $0.pageParameter = "p"
            case "next": $0.next = .init("/nextt")
            case _: $0.items = JSONPointer("/nothing")
            }
        }
        #expect(wrong.outcome == .failed, "\(wrong.warnings)")
        #expect(wrong.list?.coverage.count == 45)
        let again = try await run("http://h/one")
        #expect(again.outcome == .complete)
        #expect(again.reconciliation == .unchanged, "\(again.warnings)")
    }

    @Test("A new detection ignores the stored paging profile and keeps the items")
    func anew() async throws {
        _ = try await run("http://h/one")
        let before = origin.requests.count
        let again = try await run("http://h/one") { $0.detectsAnew = true }
        #expect(origin.requests.count > before + 1, "a run with the stored profile sends one request")
        #expect(again.outcome == .complete)
        #expect(again.list?.coverage.count == 45)
    }
}
#endif
