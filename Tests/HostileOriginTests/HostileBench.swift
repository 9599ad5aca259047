#if Tool
import Foundation
import HTTPPageSource
import HostileOrigin
import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A list that was fetched over real sockets from a good origin, with checks that hold whatever the origin sends later.
///
/// Requests contain secrets in every possible place. A second origin runs next to the first, and must receive no
/// requests.
final class HostileBench: Sendable {
    let folder = Folder()
    let clock = ManualClock()
    let origin: HostileOrigin
    let root: String
    let stranger: HostileOrigin
    let strangerRoot: String
    let store: SQLitePageStore
    let source: HTTPSource
    let key: QueryKey
    let network: PatientNetwork

    /// Runs `body` with a list at `/list`, six items in two pages, and stops everything afterwards. No request is sent
    /// before `body`.
    /// - Parameter change: Changes the configuration of the source, which already names the members of the answers.
    static func run(
        _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }, _ body: (HostileBench) async throws -> Void
    ) async throws {
        let (origin, stranger) = (HostileOrigin(), HostileOrigin())
        let bench = try await HostileBench(origin, stranger, change)
        let result: Result<Void, any Error>
        do { result = .success(try await body(bench)) } catch { result = .failure(error) }
        await bench.network.close()
        await origin.stop()
        await stranger.stop()
        await bench.store.close()
        try result.get()
    }

    private init(
        _ origin: HostileOrigin, _ stranger: HostileOrigin, _ change: (inout HTTPSourceConfiguration) -> Void
    ) async throws {
        (self.origin, self.stranger) = (origin, stranger)
        root = try await origin.start()
        strangerRoot = try await stranger.start()
        origin.set("/list", GoodList.behaviour)
        let url = "\(Secret.inFront(of: root))/list?api_key=\(Secret.key)"
        var configuration = HTTPSourceConfiguration(url: url)
        configuration.paging = .nextURL
        configuration.items = JSONPointer("/items")
        configuration.id = JSONPointer("/id")
        configuration.total = HTTPSourceConfiguration.Place("/total")
        configuration.next = HTTPSourceConfiguration.Place("/next")
        configuration.headers = [HTTPField("X-Api-Key", Secret.header)]
        configuration.limits.body = 256 << 10
        configuration.limits.decompressedBody = 512 << 10
        configuration.limits.item = 4 << 10
        configuration.limits.itemsPerPage = 100
        change(&configuration)
        network = PatientNetwork(configuration.limits)
        source = try HTTPSource(configuration, transport: network, clock: clock)
        key = try #require(HTTPSource.key(for: url))
        store = try await SQLitePageStore.open(at: folder.store, mode: .createIfMissing, clock: clock)
    }

    /// Runs a synchronization that does not wait for retries.
    func sync(_ change: (inout SyncOptions) -> Void = { _ in }) async throws -> SyncReport {
        var options = SyncOptions()
        options.retryWaitBudget = .zero
        change(&options)
        return try await ListSync(
            storage: store, source: source, key: key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

    /// The items that a reader gets without a request, byte for byte.
    var served: [[UInt8]] {
        get async throws {
            let source = source
            let repository = ListRepository(
                storage: store, codec: RawItemCodec(), clock: clock, source: { _ in source })
            return Array(try await repository.page(key, offset: 0, limit: 10_000, policy: .cacheOnly).items)
        }
    }

    var list: ListOutline {
        get async throws {
            let record = try #require(try await store.query(key))
            return try #require(try await store.outline(of: record.id))
        }
    }

    /// The GET requests. A source may also send HEAD.
    var asked: [HostileRequest] { origin.requests.filter { $0.method == "GET" } }

    /// Expects that readers get these items and the store is sound. No page may be in flight or partly stored. No
    /// secret may have reached another origin or the disk.
    func expectUnharmed(
        _ items: [[UInt8]], _ report: SyncReport? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await served == items, "after \(asked.suffix(12).map(\.target))", sourceLocation: sourceLocation)
        let findings = try await store.verify().findings
        #expect(findings.isEmpty, sourceLocation: sourceLocation)
        let list = try await list
        #expect(
            list.ledger.allSatisfy { $0.state != .inFlight && $0.leaseOwner == nil },
            "\(list.ledger), after \(asked.suffix(12).map(\.target))",
            sourceLocation: sourceLocation)
        #expect(stranger.requests.isEmpty, "another origin received a request", sourceLocation: sourceLocation)
        let words =
            list.ledger.compactMap(\.failure?.message) + (report?.warnings ?? []) + [list.record.source, key.text]
        #expect(Secret.found(in: words.joined(separator: "\n")) == nil, sourceLocation: sourceLocation)
        for file in folder.contents {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)"))
            #expect(Secret.found(in: bytes) == nil, "\(file)", sourceLocation: sourceLocation)
        }
    }
}

/// The real network with a generous deadline, and with a short one on request.
///
/// State: whether the short deadline applies, under a mutex.
final class PatientNetwork: HTTPTransport {
    static let briefTimeout = Duration.milliseconds(300)

    private let patient: AsyncHTTPTransport
    private let brief: AsyncHTTPTransport
    private let isBrief = Mutex(false)

    init(_ limits: HTTPLimits) {
        patient = AsyncHTTPTransport(limits: limits)
        var limits = limits
        limits.requestTimeout = PatientNetwork.briefTimeout
        brief = AsyncHTTPTransport(limits: limits)
    }

    /// Limits each further request to 300 ms.
    func hurry() { isBrief.withLock { $0 = true } }

    /// Restores the usual deadline for further requests.
    func takeTime() { isBrief.withLock { $0 = false } }

    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        try await (isBrief.withLock { $0 } ? brief : patient).send(request)
    }

    func close() async {
        await patient.close()
        await brief.close()
    }
}
#endif
