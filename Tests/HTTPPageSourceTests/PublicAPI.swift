#if HTTP
import PagedRepository
import Testing

@testable import HTTPPageSource

/// An API in one of the shapes that are met in the wild: 230 items, the parameters that it obeys, and those that it
/// does not.
struct PublicAPI: Sendable, CustomTestStringConvertible {
    static let count = 230

    let testDescription: String
    /// What somebody would point at.
    let url: String
    /// Items in a page.
    let size: Int
    /// How it has to be asked for pages, in the end.
    let access: PagingAccess
    /// The parameters that it knows: others are refused. Nil: it passes over what it does not know.
    let known: Set<String>?
    let item: @Sendable (Int) -> String
    let answer: @Sendable (OriginURL) -> HTTPPageResponse

    init(
        _ name: String, _ url: String, size: Int, _ access: PagingAccess, known: Set<String>? = nil,
        item: @escaping @Sendable (Int) -> String = PublicAPI.plain,
        _ answer: @escaping @Sendable (OriginURL) -> HTTPPageResponse
    ) {
        (testDescription, self.url, self.size, self.access, self.known, self.item, self.answer) = (
            name, url, size, access, known, item, answer
        )
    }

    static let plain: @Sendable (Int) -> String = { #"{"id":"i\#($0)","name":"n\#($0)"}"# }

    func respond(_ url: OriginURL, _ request: HTTPPageRequest) -> HTTPPageResponse {
        if let known, url.parameters.contains(where: { !known.contains($0.plainName) }) {
            return HTTPPageResponse(status: 400, body: Array(#"{"error":"unknown parameter"}"#.utf8))
        }
        var response = answer(url)
        if request.method == "HEAD" { response.body = [] }
        return response
    }

    /// Pages behind page one.
    var following: Int {
        // R21: where any offset can be asked for, one item of each page is known.
        let step = access == .offsets ? size - 1 : size
        return (PublicAPI.count - size + step - 1) / step
    }
}

/// What a page holds: some of the items.
struct Slice {
    let start: Int
    let end: Int

    init(from start: Int, _ size: Int) {
        self.start = min(max(start, 0), PublicAPI.count)
        end = min(self.start + max(size, 0), PublicAPI.count)
    }

    var isLast: Bool { end == PublicAPI.count }
    var count: Int { end - start }

    /// The items as members of an array.
    func items(_ item: (Int) -> String = PublicAPI.plain) -> String { (start..<end).map(item).joined(separator: ",") }

    /// The text, or `null` on the last page.
    func unlessLast(_ text: String) -> String { isLast ? "null" : text }
}

extension HTTPPageResponse {
    /// Any body, as JSON.
    static func body(_ text: String, _ headers: [HTTPField] = []) -> HTTPPageResponse {
        HTTPPageResponse(
            status: 200, headers: [HTTPField("Content-Type", "application/json")] + headers, body: Array(text.utf8))
    }
}

extension OriginURL {
    /// The digits of a parameter, whatever is around them; nil where it is missing.
    func digits(_ name: String) -> Int? { value(of: name).map { Int($0.filter(\.isNumber)) ?? 0 } }
}
#endif
