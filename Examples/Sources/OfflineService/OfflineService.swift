// Serves a list over HTTP from a store, at once and with its age, also while the upstream is offline.
//
//     swift run --package-path Examples OfflineService http://127.0.0.1:9000/articles /tmp/service.sqlite
//     curl -i 'http://127.0.0.1:8080/items?offset=40&limit=3'
//
// PORT is the port of the service (default 8080). FRESH_FOR is the lifetime of the list in seconds (default 60).
// Several replicas share one store if the second argument is the address of a PostgreSQL database, such as
// postgres://127.0.0.1/pagecache.
import Foundation
import HTTPPageSource
import Hummingbird
import Logging
import Metrics
import PagedRepository
import ServiceLifecycle

@main
struct OfflineService {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let url = arguments.first, let key = HTTPSource.key(for: url) else {
            print("usage: OfflineService URL [STORE]")
            exit(64)
        }
        let place = arguments.dropFirst().first ?? "service/store.sqlite"
        let environment = Environment()
        let port = environment.get("PORT", as: Int.self) ?? 8_080
        // The engine and the headers share one policy, so a list that the headers call stale is fetched again.
        let freshFor = Duration.seconds(environment.get("FRESH_FOR", as: Int.self) ?? 60)
        let freshness = FreshnessPolicy(staleAfter: freshFor, originLifetime: .ignored)

        // The metrics back end must exist first, because the library looks up its metrics when its parts are created.
        let metrics = PrometheusRegistry()
        MetricsSystem.bootstrap(metrics)

        let store = try await Store(at: place)
        let transport = AsyncHTTPTransport()
        let outcome: Result<Void, any Error>
        do {
            // The engine fetches all of a pinned list and keeps it up to date.
            try await store.storage.pin(key)
            let source = try HTTPSource(HTTPSourceConfiguration(url: url), transport: transport)
            var options = EngineOptions()
            options.freshness = freshness
            let engine = SyncEngine(storage: store.storage, options: options) { list in
                list.key == key ? SyncEngine.Origin("upstream", source) : nil
            }
            let router = Router()
            Items(store.storage, source, key: key, freshness).add(to: router)
            router.get("metrics") { _, _ in metrics.page() }
            let application = Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
                logger: Logger(label: "service"))
            // The group ends its services in reverse order: first the server, then the engine, which releases the
            // leases of pages in flight (R30).
            let group = ServiceGroup(
                services: [engine, application], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "group"))
            outcome = .success(try await group.run())
        } catch {
            outcome = .failure(error)
        }
        // The connections and the store are closed last, also after an error.
        await transport.close()
        await store.close()
        try outcome.get()
    }
}
