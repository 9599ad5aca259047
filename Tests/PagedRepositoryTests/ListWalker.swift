import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

extension SimulatedOrigin {
    /// Returns the page of the answer. Any other answer is an issue of the test.
    func page(_ target: PageRequest.Target, size: Int? = nil) async throws -> FetchedPage {
        let answer = try await fetch(PageRequest(target, size: size))
        guard case .page(let page) = answer else {
            Issue.record("\(answer) is not a page")
            throw CancellationError()
        }
        return page
    }

    func names(_ target: PageRequest.Target, size: Int? = nil) async throws -> [String] {
        try await page(target, size: size).content.ids.map { $0 ?? "" }
    }
}

/// A reader that walks a list from its first page to its last, repeatedly.
struct ListWalker {
    let source: any PageSource

    init(_ source: any PageSource) { self.source = source }

    /// Returns all items from page one, or from a cursor, to the end. Any failure ends the walk with an error.
    func walk(from cursor: PageCursor? = nil, size: Int? = nil) async throws -> [RawItem] {
        var items: [RawItem] = []
        var target: PageRequest.Target? = cursor.map { .cursor($0) } ?? .first
        while let asked = target {
            guard case .page(let page) = try await source.fetch(PageRequest(asked, size: size)) else { break }
            items += page.content.items
            target = following(page, at: items.count)
        }
        return items
    }

    /// Returns the given number of answers or failures in a row, walk after walk. The walks use several sizes in turn.
    /// A request carries the validator of its last answer. Every seventh carries the most recent validator, even of
    /// another request.
    func answers(to count: Int) async -> [Result<PageAnswer, FetchFailure>] {
        var answers: [Result<PageAnswer, FetchFailure>] = []
        var validators: [PageRequest: Validator] = [:]
        var last: Validator?
        var walks = 0
        var target = PageRequest.Target.first
        var position = 0
        while answers.count < count {
            var request = PageRequest(target, size: [nil, nil, 5, 20][walks % 4])
            let own = request
            request.validator = answers.count % 7 == 6 ? last : validators[own]
            do {
                let answer = try await source.fetch(request)
                answers.append(.success(answer))
                var next: PageRequest.Target?
                if case .page(let page) = answer {
                    validators[own] = page.validator
                    last = page.validator ?? last
                    position += page.content.count
                    next = following(page, at: position)
                }
                if next == nil { (position, walks) = (0, walks + 1) }
                target = next ?? .first
            } catch {
                let failure = error as? FetchFailure ?? FetchFailure(.transport, "not a failure", isRetryable: true)
                answers.append(.failure(failure))
                if !failure.isRetryable { (target, position) = (.first, 0) }
            }
        }
        return answers
    }

    private func following(_ page: FetchedPage, at position: Int) -> PageRequest.Target? {
        switch source.access {
        case .offsets: page.hasMore == false || page.content.isEmpty ? nil : .offset(position)
        case .grid(let size):
            page.hasMore == false || page.content.isEmpty ? nil : .offset((position + size - 1) / size * size)
        case .chain, .single: page.next.map { .cursor($0) }
        }
    }
}
