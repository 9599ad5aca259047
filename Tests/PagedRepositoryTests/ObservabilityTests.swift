import Foundation
import Logging
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PagedRepository

/// The test target for Documentation/Observability.md, which promises the names for dashboards and alerts, and what a
/// log never contains.
@Suite("Observability")
struct ObservabilityTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func page() throws -> String {
        try String(contentsOf: root.appendingPathComponent("Documentation/Observability.md"), encoding: .utf8)
    }

    /// The cells of each row of the page's tables whose first cell is code.
    private static func rows() throws -> [[String]] {
        try page().split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
            row.dropFirst().dropLast().split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    private static func code(_ text: String) -> String { "`\(text)`" }

    @Test("Observability.md lists exactly the metrics of the code, with their kinds, units and dimensions")
    func metrics() throws {
        let shown = try Self.rows().filter { $0[0].hasPrefix("`pagecache_") }.map { Array($0.prefix(4)) }
        let known = Metric.allCases.map { metric in
            let dimension = metric.dimension.map { dimension in
                Self.code(dimension.name) + ": " + dimension.values.map(Self.code).joined(separator: ", ")
            }
            return [Self.code(metric.rawValue), metric.kind.rawValue, metric.unit, dimension ?? "–"]
        }
        #expect(Set(shown) == Set(known))
        #expect(shown.count == known.count)
    }

    @Test("Observability.md names no metric that does not exist")
    func names() throws {
        let known = Set(Metric.allCases.map(\.rawValue))
        for match in try Self.page().matches(of: #/pagecache_[a-z_]+/#) {
            // The suffixes that Prometheus adds to a timer.
            let name = String(match.output).replacing(#/_(bucket|count|sum)$/#, with: "")
            #expect(known.contains(name), "\(name)")
        }
    }

    /// The level, message and keys of each line that the page promises.
    private static func documentedLines() throws -> [String: (level: String, keys: Set<String>)] {
        let rows = try rows().filter { ["debug", "trace"].contains($0[1]) }
        return Dictionary(
            uniqueKeysWithValues: rows.map { row in
                let keys = row[2].split(separator: ",").map { $0.trimmingCharacters(in: [" ", "`"]) }
                return (row[0].trimmingCharacters(in: ["`"]), (row[1], Set(keys)))
            })
    }

    @Test("Observability.md lists exactly the log lines of the library, and each has the level debug or trace")
    func lines() throws {
        let sources = Self.root.appendingPathComponent("Sources/PagedRepository")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path))
        var found: [String: String] = [:]
        for case let name as String in files where name.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appendingPathComponent(name), encoding: .utf8)
            for match in text.matches(
                of: #/ogger\.(trace|debug|info|notice|warning|error|critical|log)\(\s*(?:"([^"]*)")?/#)
            {
                let level = String(match.output.1)
                let message = try #require(match.output.2, "\(name): a message is a literal in the logging call")
                #expect(["debug", "trace"].contains(level), "\(name): \(message)")
                #expect(!message.contains("\\("), "\(name): variable parts belong in the metadata")
                #expect(found.updateValue(level, forKey: String(message)) == nil, "\(message) is logged in one place")
            }
        }
        let documented = try Self.documentedLines().mapValues(\.level)
        #expect(found == documented)
    }

    // MARK: Contents that are never logged

    /// A word that every value of the user or the origin contains: key, scope, payloads, ids, errors and names.
    private static let secret = "hush"

    private struct Mine: Error, CustomStringConvertible {
        var description: String { "\(ObservabilityTests.secret) of a source" }
    }

    private func row(_ number: Int) -> Row { Row(id: "\(Self.secret)-\(number)", number: number) }

    private func failure(_ failureClass: FetchFailure.Class, isRetryable: Bool = true) -> FetchFailure {
        FetchFailure(failureClass, "https://\(Self.secret).example/?token=\(Self.secret)", isRetryable: isRetryable)
    }

    /// Runs a list through loads, failures, changes and a replacement, over an origin that fails in every way. Then
    /// runs an engine.
    private func everything(_ logger: Logger, _ storage: MemoryStorage) async throws {
        let clock = storage.manualClock
        let key = QueryKey("https://\(Self.secret).example/rows?token=\(Self.secret)", scope: Self.secret)
        let origin = StagedOrigin()
        origin.rows = (0..<48).map(row)
        var options = PagedListOptions()
        options.sync.overlap = 0
        options.sync.concurrency = 1
        let repository = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: clock, jitter: { 0.5 },
            logger: logger,
            source: { _ in origin })
        let list = repository.list(key)
        origin.fail(failure(.transport))
        await #expect(throws: ListFailure.self) { try await list.load() }
        try await list.load()
        origin.fail(failure(.init(rawValue: Self.secret), isRetryable: false))
        try await list.load(.originFirst)
        origin.fail(failure(.server))
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        try await list.loadNext()
        // The total changes in the middle of the load.
        origin.rows.insert(row(1_000), at: 0)
        _ = try? await list.loadNext()
        try await list.loadAll()
        // The origin shows another list.
        origin.rows = (2_000..<2_048).map(row)
        try await list.refresh()
        _ = try? await ListSync(
            storage: storage, source: ItemSource<Row>.failing(Mine()), key: key, clock: clock, jitter: { 0.5 },
            logger: logger
        ).run()
        try await background(logger, storage, clock, origin, key)
    }

    private func background(
        _ logger: Logger, _ storage: MemoryStorage, _ clock: ManualClock, _ origin: StagedOrigin, _ key: QueryKey
    ) async throws {
        let record = try await storage.register(key, at: clock.now())
        try await storage.setPinned(true, record.id)
        clock.advance(by: .seconds(3_600))
        origin.fail(failure(.transport))
        var options = EngineOptions()
        options.spread = .zero
        options.sync.transportFailuresUntilOffline = 1
        let engine = SyncEngine(
            storage: storage, options: options, clock: PatientClock(clock), jitter: { 0.5 }, logger: logger,
            origin: { _ in .init("https://\(Self.secret).example:8443", origin) })
        let before = origin.requests.count
        let running = Task { try await engine.run() }
        // One request that fails, and then the rest.
        await origin.reached(before + 2)
        while try await storage.outline(of: record.id)?.isComplete != true { await Task.yield() }
        running.cancel()
        try await running.value
    }

    @Test(
        "At the finest level, over a failing origin, no log line holds a key, a payload, an id or a text of the origin (R45)"
    )
    func nothingOfTheirs() async throws {
        let log = RecordedLog()
        let storage = MemoryStorage(clock: ManualClock())
        try await everything(log.logger(), storage)
        let lines = log.lines
        for line in lines {
            #expect(!line.text.localizedCaseInsensitiveContains(Self.secret), "\(line.text)")
            #expect(!line.text.contains("://"), "\(line.text)")
        }
        // Without these lines the checks above would prove nothing.
        let said = Set(lines.map(\.message))
        for message in [
            "run started", "run ended", "fetch failed", "serving cached items", "background work",
            "the origin answered",
        ] {
            #expect(said.contains(message), "\(message)")
        }
        let ids = Set(lines.compactMap { $0.metadata["list"].map { "\($0)" } })
        #expect(ids == [try #require(try await storage.records().first).key.shortID])
    }

    @Test("Every log line has the level and the keys that Observability.md states")
    func keys() async throws {
        let log = RecordedLog()
        try await everything(log.logger(), MemoryStorage(clock: ManualClock()))
        let documented = try Self.documentedLines()
        for line in log.lines {
            let promise = try #require(documented[line.message], "\(line.text)")
            #expect(promise.level == line.level.rawValue)
            #expect(promise.keys == Set(line.metadata.keys), "\(line.text)")
        }
    }

    @Test("A logger above the level debug receives no line")
    func quiet() async throws {
        let log = RecordedLog()
        var logger = log.logger()
        logger.logLevel = .info
        try await everything(logger, MemoryStorage(clock: ManualClock()))
        #expect(log.lines.isEmpty)
    }
}

extension ItemSource where Value == Row {
    fileprivate static func failing(_ error: any Error & Sendable) -> ItemSource<Row> {
        let fetch: @Sendable (Int, Int) async throws -> [Row] = { _, _ in throw error }
        return .offsets(pageSize: 10, fetch: fetch)
    }
}
