#if HTTP
import PagedRepository
import Testing

@testable import HTTPPageSource

/// An API of 230 items in one of the common shapes, with the parameters that it accepts.
struct PublicAPI: Sendable, CustomTestStringConvertible {
    static let count = 230

    let testDescription: String
    /// The URL that a user would enter.
    let url: String
    /// The number of items in a page.
    let size: Int
    /// The paging access that detection must find.
    let access: PagingAccess
    /// The accepted parameters. Requests with others are refused. `nil` means that unknown parameters are ignored.
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

    /// The number of requests after page one.
    var following: Int {
        // Where any offset is possible, pages overlap by one item (R21).
        let step = access == .offsets ? size - 1 : size
        return (PublicAPI.count - size + step - 1) / step
    }
}

/// A range of the items, as the content of a page.
struct Slice {
    let start: Int
    let end: Int

    init(from start: Int, _ size: Int) {
        self.start = min(max(start, 0), PublicAPI.count)
        end = min(self.start + max(size, 0), PublicAPI.count)
    }

    var isLast: Bool { end == PublicAPI.count }
    var count: Int { end - start }

    /// Returns the items as members of an array.
    func items(_ item: (Int) -> String = PublicAPI.plain) -> String { (start..<end).map(item).joined(separator: ",") }

    /// Returns the text, or `null` on the last page.
    func unlessLast(_ text: String) -> String { isLast ? "null" : text }
}

extension HTTPPageResponse {
    /// Returns any body as JSON.
    static func body(_ text: String, _ headers: [HTTPField] = []) -> HTTPPageResponse {
        HTTPPageResponse(
            status: 200, headers: [HTTPField("Content-Type", "application/json")] + headers, body: Array(text.utf8))
    }
}

extension OriginURL {
    /// Returns the digits of a parameter, ignoring other characters. Returns nil when the parameter is missing.
    func digits(_ name: String) -> Int? { value(of: name).map { Int($0.filter(\.isNumber)) ?? 0 } }
}
#endif
