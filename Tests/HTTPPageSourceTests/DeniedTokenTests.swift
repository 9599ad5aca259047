#if HTTP
import PageModel
import PagedRepository
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: a token beside the statement that the list ends")
struct DeniedTokenTests {
    private static func page(_ start: Int, _ statement: String) -> HTTPPageResponse {
        let end = min(start + 20, 45), token = end < 45 ? "\"t\(end)\"" : "null"
        return .json(#"{"items":[\#(objects(start..<end))],\#(statement),"next_page_token":\#(token)}"#)
    }

    private static func position(_ token: String?) -> Int? { token.flatMap { Int($0.dropFirst()) } }

    @Test(
        "An answer without items to the first parameter does not end the list",
        arguments: [#""truncated":false"#, #""done":true"#, #""has_more":false"#])
    func wrongParameter(statement: String) async throws {
        // `page_token` is a filter here, and `cursor` takes the token.
        let origin = ScriptedOrigin { url, _ in
            url.value(of: "page_token") != nil
                ? .json(#"{"items":[],\#(statement)}"#)
                : DeniedTokenTests.page(DeniedTokenTests.position(url.value(of: "cursor")) ?? 0, statement)
        }
        #expect(try await walk(scripted("http://h/api", origin)) == fortyFive)
    }

    @Test("One answer without items to the right parameter does not end the list")
    func passingFault() async throws {
        let hasFailed = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            let start = DeniedTokenTests.position(url.value(of: "page_token"))
            let fails = hasFailed.withLock { hasFailed -> Bool in
                defer { if start != nil { hasFailed = true } }
                return start != nil && !hasFailed
            }
            return fails
                ? .json(#"{"items":[],"has_more":false,"next_page_token":"t20"}"#)
                : DeniedTokenTests.page(start ?? 0, #""has_more":false"#)
        }
        #expect(try await walk(scripted("http://h/api", origin)) == fortyFive)
    }

    @Test("Two answers without items that name the token again end the list")
    func tokenForChanges() async throws {
        let origin = ScriptedOrigin { url, _ in
            let items = url.value(of: "page_token") == nil ? objects(0..<13) : ""
            return .json(#"{"items":[\#(items)],"has_more":false,"next_page_token":"t13"}"#)
        }
        let page = try await scripted("http://h/api", origin).first()
        #expect(page.hasMore != true)
        #expect(page.detectedPaging?.warnings == [])
        #expect(origin.requests.count == 3)
    }
}
#endif
