import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ItemSource {
    /// A source that is asked for what follows the last item that is known.
    ///
    /// That item is stored with its page as the cursor, so a later process goes on where this one stopped (R31). The
    /// list ends with a page that is empty; with one that has fewer items than were asked for, when it says nothing
    /// else; and with a page one that has as many as its total. Where the origin gives fewer items than it is asked for
    /// although more follow, it has to be said: by `hasMore`, or by a `total`, which costs one more request at the end.
    /// - Parameters:
    ///   - pageSize: how many items to ask for, unless the request says. 1 or more.
    ///   - codec: how values are stored, the last one of a page as its cursor, too.
    ///   - id: what tells items apart; nil: nothing does. Default: the `id` of an `Identifiable` value.
    ///   - fetch: fetches the items that follow `last`; page one for nil.
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func afterLast<Answer: ItemPageConvertible>(
        pageSize: Int, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ last: Value?, _ size: Int) async throws -> Answer
    ) throws(SourceDefinitionError) -> ItemSource where Answer.Element == Value {
        let pageSize = try SourceDefinitionError.checked(pageSize: pageSize)
        let cursors = LastItemCursor(codec: codec)
        return ItemSource(
            paging: "keyset", codec: codec, id: id, access: { .chain },
            place: { request throws(FetchFailure) in
                let size = request.size ?? pageSize
                return switch request.target {
                case .first: (last: Value?.none, size: size)
                case .cursor(let cursor): (last: try cursors.decode(cursor), size: size)
                case .offset: throw .notAskedThisWay("a position")
                }
            },
            bring: { place in
                let page = try await fetch(place.last, place.size).itemPage
                guard let last = page.items.last, goesOn(page, asked: place.size, isFirst: place.last == nil) else {
                    return Handover(page: page)
                }
                return Handover(page: page, next: try cursors.encode(last))
            })
    }

    /// R24: the origin's own word; then its total; then whether the page is full. Behind page one nobody knows the
    /// position, so a total says no more there than that it is not for the page's length to tell.
    private static func goesOn(_ page: ItemPage<Value>, asked size: Int, isFirst: Bool) -> Bool {
        if let hasMore = page.hasMore { return hasMore }
        if let total = page.total.exactCount { return !isFirst || page.items.count < total }
        return page.items.count >= size
    }
}

extension ItemSource where Value: Codable {
    /// The same, with values stored as JSON.
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func afterLast<Answer: ItemPageConvertible>(
        pageSize: Int, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ last: Value?, _ size: Int) async throws -> Answer
    ) throws(SourceDefinitionError) -> ItemSource where Answer.Element == Value {
        try afterLast(pageSize: pageSize, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}

/// The last item of a page as a stored cursor: the codec's name, a colon, and the item's bytes in base 64, since a
/// codec may write any bytes. The name is there so that what another codec wrote is not misread (R7).
private struct LastItemCursor<Value: Sendable>: Sendable {
    let codec: any ItemCodec<Value>

    func encode(_ last: Value) throws(FetchFailure) -> PageCursor {
        do {
            return PageCursor("\(codec.name):\(Data(try codec.encode(last)).base64EncodedString())")
        } catch {
            throw FetchFailure(
                .undecodable, "the last item of the page cannot be encoded as \(codec.name)", isRetryable: false)
        }
    }

    /// - Throws: `FetchFailure` that makes the engine walk again from page one (R22).
    func decode(_ cursor: PageCursor) throws(FetchFailure) -> Value {
        let prefix = "\(codec.name):"
        if cursor.text.hasPrefix(prefix), let bytes = Data(base64Encoded: String(cursor.text.dropFirst(prefix.count))),
            let last = try? codec.decode(Array(bytes)[...])
        {
            return last
        }
        throw FetchFailure(.refused, "the stored cursor is not one of this source's", isRetryable: false)
    }
}
