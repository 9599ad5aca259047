import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import Snippets

@Suite("The examples of the pages about testing", .timeLimit(.minutes(1)))
struct TestingTests {
    @Test("The example with a simulated origin fetches the whole list, and waits before a retry on its own clock")
    func simulated() async throws {
        #expect(try await TestingSnippets.simulated())
    }

    @Test("The example with a scripted source makes the requests of its script, and no others")
    func scripted() async throws {
        let first = FetchedPage(content: PageContent([RawItem(payload: [1], id: "a")]), total: .exact(40))
        #expect(try await TestingSnippets.scripted(first, "events"))
    }

    @Test("The example of Getting started shows a failed next page at the last row")
    func gettingStarted() async throws {
        let events = (0..<48).map { GettingStarted.Event(id: $0, title: "event \($0)") }
        #expect(try await GettingStarted.tested(events))
    }
}
