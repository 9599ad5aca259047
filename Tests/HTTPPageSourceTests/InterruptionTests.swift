#if HTTP
import PageModel
import PagedRepository
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: answers with status 429")
struct InterruptionTests {
    @Test("A 429 answer to HEAD costs a proven list its total only until the next run")
    func interruptedHead() async throws {
        let isWell = Mutex(false)
        let origin = ScriptedOrigin { url, request in
            if request.method == "HEAD" {
                return isWell.withLock { $0 }
                    ? .json("", [HTTPField("X-Total-Count", "45")]) : HTTPPageResponse(status: 429)
            }
            let start = url.number("offset") ?? 0
            return .json(
                "[\(objects(from: start, 20, of: 45))]", [HTTPField("X-Has-More", start < 25 ? "true" : "false")])
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(origin.requests.map(\.method) == ["GET", "GET", "HEAD"])
        #expect(page.detectedPaging?.warnings.first?.contains("the next run tries again") == true)
        #expect(source.access == .offsets)
        isWell.withLock { $0 = true }
        let again = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
        #expect(try await again.first().total == .exact(45))
    }

    @Test("A 429 answer to a probe of page numbers ends detection", arguments: [1, 2, 3])
    func interruptedPages(answered: Int) async throws {
        let numbers = Mutex<[Int?]>([])
        let origin = ScriptedOrigin { url, _ in
            let count = numbers.withLock {
                $0.append(url.number("page"))
                return $0.count
            }
            if count > answered { return HTTPPageResponse(status: 429) }
            let start = (url.number("page") ?? 0) * 20
            return .json("{\"items\":[\(objects(start..<start + 20))]}")
        }
        let source = try scripted(answered == 3 ? "http://h/api" : "http://h/api?page=0", origin)
        _ = try? await source.first()
        let requestCount = numbers.withLock { $0.count }
        #expect(requestCount <= answered + 1, "\(numbers.withLock { $0 })")
    }

    @Test("A 429 answer to a probe of offsets also cancels the probe of the next links")
    func interruptedLinks() async throws {
        let origin = ScriptedOrigin { url, _ in
            if url.value(of: "offset") != nil { return HTTPPageResponse(status: 429) }
            let start = url.number("cursor") ?? 0, end = min(start + 5, 45)
            return .json(
                #"{"total":45,"next":\#(end < 45 ? "\"/api?cursor=\(end)\"" : "null"),"items":[\#(objects(start..<end))]}"#
            )
        }
        let source = try scripted("http://h/api?kind=a", origin)
        let page = try await source.first()
        #expect(origin.requests.count == 2)
        #expect(page.next == PageCursor("http://h/api?cursor=5"))
    }
}
#endif
