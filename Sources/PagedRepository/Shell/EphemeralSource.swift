import PageModel

/// A source whose answers must not be stored, for lists that leave no record.
struct EphemeralSource: RelayedSource {
    let source: any PageSource

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        var answer = try await source.fetch(request)
        if case .page(var page) = answer {
            page.mayBeStored = false
            answer = .page(page)
        }
        return answer
    }
}
