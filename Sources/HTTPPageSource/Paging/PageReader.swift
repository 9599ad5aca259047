import PageModel
import PagedRepository

/// Takes a page out of an answer, as the description says.
enum PageReader {
    static func page(
        from answer: Answer, _ description: SourceDescription, isFirst: Bool, limits: HTTPLimits
    ) throws(FetchFailure) -> FetchedPage {
        let total = description.total.flatMap { answer.number(at: $0) }.map { Total(claimed: $0) } ?? .unknown
        var page = FetchedPage(
            content: try content(of: answer, description, isFirst, limits), total: total,
            hasMore: description.hasMore.flatMap { answer.document.value(at: $0) }.flatMap { answer.document.boolean($0) })
        if let text = description.next.flatMap({ answer.text(at: $0) }), !text.isEmpty {
            switch description.style {
            case .link, .nextURL: page.next = PageCursor(try cursor(text, from: answer))
            // Asked for by number: all the link says is that there is more.
            case .offset, .page: page.hasMore = page.hasMore ?? true
            case .none: break
            }
        }
        page.validator = validator(of: answer, description)
        return page
    }

    private static func content(
        of answer: Answer, _ description: SourceDescription, _ isFirst: Bool, _ limits: HTTPLimits
    ) throws(FetchFailure) -> PageContent {
        let document = answer.document
        guard let list = document.value(at: description.items) else {
            // Some origins leave the member out when there is nothing to put in. Of page one that is believed when a total
            // of 0 says so; behind it, an answer that does not speak of an error is the end.
            if description.total.flatMap({ answer.number(at: $0) }) == 0 { return PageContent() }
            let words: Set<String> = ["error", "errors", "message", "fault", "exception", "detail", "code", "status", "title"]
            let members = document.members(of: document.root)
            if !isFirst, document.kind(of: document.root) == .object, members.allSatisfy({ !words.contains($0.name.lowercased()) }) {
                return PageContent()
            }
            throw FetchFailure(
                .undecodable, "the answer has nothing at \(described(description.items))", isRetryable: false,
                httpStatus: answer.response.status)
        }
        if document.kind(of: list) == .null { return PageContent() }
        guard document.kind(of: list) == .array else {
            throw FetchFailure(
                .undecodable, "what the answer has at \(described(description.items)) is not an array", isRetryable: false,
                httpStatus: answer.response.status)
        }
        let elements = document.elements(of: list)
        guard elements.count <= limits.itemsPerPage else {
            throw FetchFailure(.hostile, "the page has more than \(limits.itemsPerPage) items", isRetryable: false)
        }
        var content = PageContent()
        for element in elements {
            guard element.end - element.start <= limits.item else {
                throw FetchFailure(.hostile, "an item is larger than \(limits.item) bytes", isRetryable: false)
            }
            let id = description.id.flatMap { document.value(at: $0, below: element) }.flatMap { document.scalarText($0) }
            content.append(document.raw(element), id: id)
        }
        return content
    }

    /// The next URL in the form that is stored: without secrets, which are put back when it is asked (R45).
    private static func cursor(_ text: String, from answer: Answer) throws(FetchFailure) -> String {
        guard var next = answer.url.resolving(text) else {
            throw FetchFailure(.undecodable, "the next link is not a URL", isRetryable: false)
        }
        if next.scheme == "http", answer.url.scheme == "https", next.host == answer.url.host {
            // An origin behind a proxy that does not know it is spoken to in https.
            next = OriginURL("https" + next.text.dropFirst(4)) ?? next
        }
        guard next.hasSameOrigin(as: answer.url) else {
            throw FetchFailure(.hostile, "the next link leads to another origin, \(next.scheme)://\(next.host)", isRetryable: false)
        }
        next.userInfo = nil
        // Only what is the caller's own secret: a continuation may well be called "token".
        next.removeParameters { parameter in
            answer.secrets.contains { $0.plainName == parameter.plainName && $0.plainValue == parameter.plainValue }
        }
        return next.text
    }

    private static func validator(of answer: Answer, _ description: SourceDescription) -> Validator? {
        let entityTag = answer.response.header("ETag")
        let lastModified = answer.response.header("Last-Modified")
        guard entityTag != nil || lastModified != nil else { return nil }
        let coversTotal = if case .body = description.total { true } else { false }
        return Validator(
            request: answer.url.text, entityTag: entityTag, lastModified: lastModified, coversTotal: coversTotal)
    }

    private static func described(_ pointer: JSONPointer) -> String {
        pointer.tokens.isEmpty ? "the top" : pointer.description
    }
}
