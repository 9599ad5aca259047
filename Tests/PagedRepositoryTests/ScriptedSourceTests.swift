import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@Suite("Scripted source")
struct ScriptedSourceTests {
    private let page = FetchedPage(content: PageContent([RawItem(payload: [1, 2, 3], id: "a")]))

    @Test("A scripted source returns its steps in order, each once")
    func inOrder() async throws {
        let source = ScriptedSource(
            [.init(.first, .page(page)), .init(.offset(1), fails: .status(503)), .init(.offset(1), .pastEnd)],
            access: .grid(size: 1))
        #expect(source.access == .grid(size: 1))
        #expect(try await source.fetch(PageRequest(.first, size: 4)) == .page(page))
        await #expect(throws: FetchFailure.status(503)) { try await source.fetch(PageRequest(.offset(1))) }
        #expect(source.remaining == [.init(.offset(1), .pastEnd)])
        #expect(try await source.fetch(PageRequest(.offset(1))) == .pastEnd)
        #expect(source.remaining.isEmpty)
        #expect(source.unscripted.isEmpty)
        #expect(source.usage == SourceUsage(requests: 3, bytesReceived: 3))
        #expect(source.requests.map(\.target) == [.first, .offset(1), .offset(1)])
    }

    @Test("A scripted source fails permanently on an unscripted request and reports it at once")
    func unscripted() async throws {
        await confirmation(expectedCount: 2) { told in
            let source = ScriptedSource([.init(.first, .page(page))], onUnscripted: { _ in told() })
            let early = PageRequest(.offset(1), size: 9)
            let failure = await #expect(throws: FetchFailure.self) { try await source.fetch(early) }
            #expect(failure?.failureClass == .rejected)
            #expect(failure?.isRetryable == false)
            #expect(source.remaining.count == 1)
            await #expect(throws: Never.self) { try await source.fetch(PageRequest(.first)) }
            await #expect(throws: FetchFailure.self) { try await source.fetch(PageRequest(.first)) }
            #expect(source.unscripted == [early, PageRequest(.first)])
        }
    }

    @Test("With any order, each target returns its own steps in turn")
    func anyOrder() async throws {
        let source = ScriptedSource(
            [.init(.offset(0), .pastEnd), .init(.offset(5), .page(page)), .init(.offset(5), .pastEnd)], order: .any)
        #expect(try await source.fetch(PageRequest(.offset(5))) == .page(page))
        #expect(try await source.fetch(PageRequest(.offset(5))) == .pastEnd)
        #expect(try await source.fetch(PageRequest(.offset(0))) == .pastEnd)
        #expect(source.remaining.isEmpty)
    }
}
