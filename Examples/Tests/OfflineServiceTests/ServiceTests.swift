import Foundation
import Hummingbird
import HummingbirdTesting
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import OfflineService

@Suite("The service", .timeLimit(.minutes(1)))
struct ServiceTests {
    private struct Article: Codable, Identifiable, Hashable, Sendable { let id: Int }

    private struct Page: Decodable {
        let total: Int?
        let offset: Int
        let missing: [[Int]]
        let items: [Article]
    }

    private let origin = ItemOrigin((0..<48).map(Article.init), pageSize: 10)
    private let key = QueryKey("articles")

    private func application(_ store: SQLitePageStore) -> some ApplicationProtocol {
        let router = Router()
        Items(store, origin, key: key, FreshnessPolicy()).add(to: router)
        return Application(router: router)
    }

    private func page(_ response: TestResponse) throws -> Page {
        try JSONDecoder().decode(Page.self, from: Data(buffer: response.body))
    }

    @Test("Before the first answer of the upstream the service is unavailable, and sends it no request")
    func nothing() async throws {
        try await application(try await .inMemory()).test(.router) { client in
            for path in ["/items", "/healthz"] {
                try await client.execute(uri: path, method: .get) { #expect($0.status == .serviceUnavailable) }
            }
        }
        #expect(origin.requests.isEmpty)
    }

    @Test("The items are served while the upstream is away, with their age")
    func away() async throws {
        let store = try await SQLitePageStore.inMemory()
        #expect(try await ListSync(storage: store, source: origin, key: key).run().outcome == .complete)
        let requests = origin.requests.count
        try await application(store).test(.router) { client in
            try await client.execute(uri: "/items?offset=40&limit=20", method: .get) { response in
                let page = try page(response)
                #expect(page.total == 48 && page.offset == 40 && page.missing.isEmpty)
                #expect(page.items.map(\.id) == Array(40..<48))
                #expect(response.headers[.age] != nil)
            }
            try await client.execute(uri: "/healthz", method: .get) { #expect($0.status == .ok) }
        }
        #expect(origin.requests.count == requests)
    }

    @Test("The answer names the positions that are missing, and carries the items behind them")
    func gaps() async throws {
        let store = try await SQLitePageStore.inMemory()
        for work in [SyncOptions.Work.refresh, .positions(30..<40)] {
            var options = SyncOptions()
            options.work = work
            _ = try await ListSync(storage: store, source: origin, key: key, options: options).run()
        }
        try await application(store).test(.router) { client in
            try await client.execute(uri: "/items?offset=5&limit=30", method: .get) { response in
                let page = try page(response)
                #expect(page.missing == [[10, 30]])
                #expect(page.items.map(\.id) == Array(5..<10) + Array(30..<35))
            }
        }
    }
}
