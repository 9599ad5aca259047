#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

/// Returns items with these ids, as members of an array.
func objects(_ range: Range<Int>) -> String { range.map { #"{"id":\#($0),"name":"n\#($0)"}"# }.joined(separator: ",") }

/// Returns the items of a page of `size` items from `start`, in a list of `count` items. Returns none behind the end.
func objects(from start: Int, _ size: Int, of count: Int) -> String {
    objects(min(start, count)..<min(start + size, count))
}

/// Fetches all pages of a source as the engine would, by its claimed access. Returns the ids in order.
func walk(_ source: HTTPSource, size: Int? = nil) async throws -> [String?] {
    var ids: [String?] = []
    var target = PageRequest.Target.first
    while ids.count < 1_000 {
        guard case .page(let page) = try await source.fetch(PageRequest(target, size: size)) else { return ids }
        ids += page.content.ids
        if page.content.isEmpty { return ids }
        if page.hasMore == false { return ids }
        switch source.access {
        case .offsets, .grid:
            if let total = page.total.exactCount, ids.count >= total { return ids }
            target = .offset(ids.count)
        case .chain:
            guard let next = page.next else { return ids }
            target = .cursor(next)
        case .single: return ids
        }
    }
    return ids
}

/// Returns a source for an origin.
func scripted(
    _ url: String, _ origin: ScriptedOrigin, stored: String? = nil,
    _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }
) throws -> HTTPSource {
    var configuration = HTTPSourceConfiguration(url: url)
    change(&configuration)
    return try HTTPSource(configuration, stored: stored, transport: origin)
}

extension HTTPSource {
    /// Fetches page one.
    func first(size: Int? = nil) async throws -> FetchedPage {
        guard case .page(let page) = try await fetch(PageRequest(.first, size: size)) else { throw NoPage() }
        return page
    }

    func page(_ target: PageRequest.Target, size: Int? = nil) async throws -> FetchedPage {
        guard case .page(let page) = try await fetch(PageRequest(target, size: size)) else { throw NoPage() }
        return page
    }
}

struct NoPage: Error {}

/// The ids of the list that most origins here serve.
let fortyFive = (0..<45).map { Optional(String($0)) }

extension OriginURL {
    /// Returns the numeric value of a parameter.
    func number(_ name: String) -> Int? { value(of: name).flatMap { Int($0) } }
}

/// The result of one of two runs over the same stored list.
struct RunResult {
    var outcome: SyncReport.Outcome
    /// The number of stored items.
    var held: Int?
    var requests: Int
}

/// Synchronises a list twice, each time with a new source.
func synchroniseTwice(
    _ origin: ScriptedOrigin, _ url: String = "http://h/api?limit=20"
) async throws -> [RunResult] {
    let clock = ManualClock()
    let storage = MemoryStorage(clock: clock), key = QueryKey("k")
    var runs: [RunResult] = []
    for _ in 0..<2 {
        let before = origin.requests.count
        let source = try scripted(url, origin, stored: try await storage.query(key)?.source)
        let report = try await ListSync(
            storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
        ).run()
        let query = try #require(try await storage.query(key))
        let held = try await storage.outline(of: query.id)?.coverage.count
        runs.append(RunResult(outcome: report.outcome, held: held, requests: origin.requests.count - before))
    }
    return runs
}
#endif
