#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
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
        "An answer without items to a parameter that is a filter does not end the list",
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

    @Test("A statement that the list ends counts, if no parameter takes the token beside it")
    func tokenWithoutParameter() async throws {
        let origin = ScriptedOrigin { url, _ in
            url.parameters.isEmpty
                ? .json(#"{"entries":[\#(objects(0..<20))],"has_more":false,"cursor":"AAAB"}"#)
                : HTTPPageResponse(status: 400)
        }
        let source = try scripted("http://h/list", origin)
        let page = try await source.first()
        #expect(page.hasMore != true)
        #expect(page.detectedPaging?.warnings == [])
        let before = origin.requests.count
        let again = try scripted("http://h/list", origin, stored: page.detectedPaging?.source)
        #expect(try await again.first().hasMore != true)
        #expect(origin.requests.count == before + 1)
        // A total that counts more items contradicts the statement.
        let counted = ScriptedOrigin { url, _ in
            url.parameters.isEmpty
                ? .json(#"{"total":60,"entries":[\#(objects(0..<20))],"has_more":false,"cursor":"AAAB"}"#)
                : HTTPPageResponse(status: 400)
        }
        #expect(try await scripted("http://h/list", counted).first().hasMore == true)
    }

    @Test(
        "Two answers without items and token end the list, if the token went into a parameter of its name or a placeholder",
        arguments: [("http://h/records", "cursor"), ("http://h/works?cursor=*", "next_cursor")])
    func tokenUntilEnd(url: String, member: String) async throws {
        let hasFailed = Mutex(false)
        func origin(_ count: Int, fails: Bool) -> ScriptedOrigin {
            ScriptedOrigin { url, _ in
                let start = DeniedTokenTests.position(url.value(of: "cursor").flatMap { $0 == "*" ? nil : $0 }) ?? 0
                let end = min(start + 20, count)
                let isFault = hasFailed.withLock { hasFailed -> Bool in
                    defer { if start > 0 { hasFailed = true } }
                    return fails && start > 0 && !hasFailed
                }
                if start >= end || isFault { return .json(#"{"records":[]}"#) }
                return .json(#"{"records":[\#(objects(start..<end))],"\#(member)":"t\#(end)"}"#)
            }
        }
        for count in [3, 20] {
            let source = try scripted(url, origin(count, fails: false))
            let clock = ManualClock(), storage = MemoryStorage(clock: clock)
            let report = try await ListSync(
                storage: storage, source: source, key: QueryKey(url), clock: clock
            ).run()
            #expect(report.outcome == .complete)
            #expect(report.list?.coverage.count == count)
        }
        // One fault does not end the list.
        hasFailed.withLock { $0 = false }
        #expect(try await walk(try scripted(url, origin(45, fails: true))) == fortyFive)
    }
}
#endif
