public import PageModel

/// Splits the body of a JSON answer into the items of a page, without decoding it: what `HTTPPageSource` does, for
/// sources of your own.
///
/// Items come out byte for byte as they were sent (R7): the text of numbers, the order of members, unknown members and
/// spaces inside of an item survive. It takes a small part of what decoding and encoding again would take.
///
///     let content = try JSONItems.split(body, at: JSONPointer("/results")!, id: JSONPointer("/id"))
///     return .page(FetchedPage(content: content, total: .exact(1_234)))
public enum JSONItems {
    /// The elements of the array at `items` as the content of a page.
    ///
    /// The body has to be one JSON value (RFC 8259) in UTF-8, from end to end; a byte order mark in front is passed
    /// over. A body with a single broken byte is refused as a whole (R43): nothing partial is stored. Escaped lone
    /// surrogates (`\ud800`) are taken. An empty array makes a page without items; so does `null`, which some origins
    /// send in its place.
    ///
    /// - Parameters:
    ///   - body: the whole body, decompressed. Its length is the caller's to limit, before it is in memory.
    ///   - items: where the array stands. Default: the whole body is the array.
    ///   - id: where an item's id stands, below the item; an empty pointer says that the item itself is its id. Nil
    ///     when items have none. An id is a string's text or a number as it is written (`1` and `1.0` are two ids), and
    ///     keeps its type: the number 0 and the string "0" are two ids. An item without either has no id, nor has one whose id holds a lone surrogate. Where a member repeats, the
    ///     first one counts.
    ///   - limits: of which `itemsPerPage` (default 10,000), `item` (default 8 MiB) and `depth` (default 64) are kept
    ///     here.
    /// - Throws: `FetchFailure`, not retryable: class `undecodable` for what is not JSON, or has no array in that
    ///   place; class `hostile` for what passes a limit (R43).
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
                .undecodable, "what the body has at \(described(items)) is not an array", isRetryable: false)
        }
    }

    private static func document(_ body: [UInt8], _ limits: HTTPLimits) throws(FetchFailure) -> JSONDocument {
        do throws(JSONError) {
            return try JSONDocument(body, depthLimit: limits.depth)
        } catch {
            switch error {
            case .tooDeep:
                throw FetchFailure(.hostile, "the body nests deeper than \(limits.depth) levels", isRetryable: false)
            case .malformed(let position):
                throw FetchFailure(.undecodable, "the body is not JSON (byte \(position))", isRetryable: false)
            }
        }
    }

    private static func described(_ pointer: JSONPointer) -> String {
        pointer.tokens.isEmpty ? "the top" : pointer.description
    }
}
