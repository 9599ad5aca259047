public import PageModel

/// Splits the body of a JSON answer into the items of a page, without decoding the items. `HTTPSource` splits answers
/// in the same way. This type is for sources of your own.
///
/// Items keep the bytes that the origin sent (R7): the text of numbers, the order of members, unknown members, and
/// spaces inside an item. Splitting takes a small part of the time of decoding and encoding.
///
///     let content = try JSONItems.split(body, at: JSONPointer("/results")!, id: JSONPointer("/id"))
///     return .page(FetchedPage(content: content, total: .exact(1_234)))
public enum JSONItems {
    /// Returns the elements of the array at `items` as the content of a page.
    ///
    /// The body has to be one JSON value (RFC 8259) in UTF-8, from end to end. A byte order mark at the start is
    /// skipped. A body with a single broken byte is refused as a whole, so that no part of it is stored (R43). Escaped
    /// lone surrogates (`\ud800`) are accepted. An empty array makes a page without items. So does `null`, which some
    /// origins send in its place.
    ///
    /// An id is a string's text, or a number as it is written: `1` and `1.0` are two ids. An id keeps its type: the
    /// number 0 and the string "0" are two ids. A value of another kind is not an id, and neither is a string with a
    /// lone surrogate. Where a member repeats, the first one counts.
    ///
    /// - Parameters:
    ///   - body: the whole body, decompressed. The caller has to limit its length before it is in memory.
    ///   - items: the place of the array. Defaults to the whole body.
    ///   - id: the place of an item's id, below the item. An empty pointer makes each item its own id. Defaults to nil:
    ///     items have no ids.
    ///   - limits: only `itemsPerPage` (default 10,000), `item` (default 8 MiB) and `depth` (default 64) apply here.
    /// - Throws: `FetchFailure`, not retryable. Class `undecodable` means the body is not JSON, or has no array at
    ///   `items`. Class `limitExceeded` means a limit was passed (R43).
    public static func split(
        _ body: [UInt8], at items: JSONPointer = .whole, id: JSONPointer? = nil, limits: HTTPLimits = HTTPLimits()
    ) throws(FetchFailure) -> PageContent {
        let document = try document(body, limits)
        guard let list = document.value(at: items) else {
            throw FetchFailure(.undecodable, "the body has nothing at \(described(items))", isRetryable: false)
        }
        switch document.kind(of: list) {
        case .array: return try document.items(of: list, id: id, limits: limits)
        case .null: return PageContent()
        case .object, .string, .number, .boolean:
            throw FetchFailure(
                .undecodable, "the value at \(described(items)) is not an array", isRetryable: false)
        }
    }

    private static func document(_ body: [UInt8], _ limits: HTTPLimits) throws(FetchFailure) -> JSONDocument {
        do throws(JSONError) {
            return try JSONDocument(body, depthLimit: limits.depth)
        } catch {
            switch error {
            case .tooDeep:
                throw FetchFailure(
                    .limitExceeded, "the body nests deeper than \(limits.depth) levels", isRetryable: false)
            case .malformed(let position):
                throw FetchFailure(.undecodable, "the body is not JSON (byte \(position))", isRetryable: false)
            }
        }
    }

    private static func described(_ pointer: JSONPointer) -> String {
        pointer.tokens.isEmpty ? "the top" : pointer.description
    }
}
