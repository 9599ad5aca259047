#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Conditional requests")
struct ConditionalTests {
    @Test("A validator is sent only with the request that it belongs to (R1)")
    func validators() async throws {
        let origin = ScriptedOrigin { _, request in
            request.headers.contains { $0.name == "If-None-Match" }
                ? HTTPPageResponse(status: 304)
                : .json(#"{"count":2,"results":[{"id":1},{"id":2}]}"#, [HTTPField("ETag", "W/\"x\"")])
        }
        let source = try HTTPSource(HTTPSourceConfiguration(url: "http://h/api"), transport: origin)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)), let validator = page.validator else {
            Issue.record("the page has no validator")
            return
        }
        #expect(validator.entityTag == "W/\"x\"")
        #expect(validator.coversTotal)
        #expect(
            try await source.fetch(PageRequest(.first, validator: validator))
                == .notModified(total: .unknown, validator: nil))
        guard case .page = try await source.fetch(PageRequest(.first, size: 5, validator: validator)) else {
            Issue.record("a validator was sent with another request")
            return
        }
    }
}
#endif
