import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ItemSource {
    /// A source whose origin returns the items that follow a given last item (keyset paging).
    ///
    /// The last item of a page is stored with the page as its cursor, so a later process continues from there (R31). If
    /// the later process cannot decode that item, it reads the list again from page one. The held items stay (R22).
    ///
    /// The list ends with an empty page. It also ends with a page of fewer items than requested that states neither
    /// `total` nor `hasMore`. Page one ends the list when it has as many items as its total. Some origins return fewer
    /// items than requested although more follow. Such an answer must set `hasMore`, or a `total`, which costs one more
    /// request at the end.
    /// - Parameters:
    ///   - pageSize: the number of items to request, unless the request sets its own.
    ///   - codec: encodes the stored values, and the last item of a page as its cursor.
    ///   - id: returns the id of an item. `nil` means that items have no ids. Defaults to the `id` of an `Identifiable`
    ///     value.
    ///   - fetch: fetches the items that follow `last`, or page one when `last` is nil.
    public static func afterLast<Answer: ItemPageConvertible>(
        pageSize: PageSize, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ last: Value?, _ size: Int) async throws -> Answer
    ) -> ItemSource where Answer.Element == Value {
        let pageSize = pageSize.count
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

    /// Decides by the origin's `hasMore`, then by its total, then by the length of the page (R24). After page one the
    /// position is unknown, so a total only means that a short page is not an end.
    private static func goesOn(_ page: ItemPage<Value>, asked size: Int, isFirst: Bool) -> Bool {
        if let hasMore = page.hasMore { return hasMore }
        if let total = page.total.exactCount { return !isFirst || page.items.count < total }
        return page.items.count >= size
    }
}

extension ItemSource where Value: Codable {
    /// Creates a source that continues after the last item, and stores values as JSON. `fetch` returns the items after
    /// `last`, or the first items if `last` is nil.
    public static func afterLast<Answer: ItemPageConvertible>(
        pageSize: PageSize, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ last: Value?, _ size: Int) async throws -> Answer
    ) -> ItemSource where Answer.Element == Value {
        afterLast(pageSize: pageSize, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}

/// The last item of a page as a stored cursor: the codec's name, a colon, and the item's bytes. The bytes are in base
/// 64, because a codec may write any bytes. The name prevents misreading a cursor of another codec (R7).
private struct LastItemCursor<Value: Sendable>: Sendable {
    let codec: any ItemCodec<Value>
    /// Last items whose bytes do not decode, by their cursor. A later process does not have these items, and reads the
    /// list again from page one (R22).
    private let undecodable = BoundedCache<String, Value>(budget: 1_024)

    init(codec: any ItemCodec<Value>) { self.codec = codec }

    func encode(_ last: Value) throws(FetchFailure) -> PageCursor {
        let bytes: [UInt8]
        do {
            bytes = try codec.encode(last)
        } catch {
            throw FetchFailure(
                .undecodable, "the last item of the page cannot be encoded as \(codec.name)", isRetryable: false)
        }
        let text = "\(codec.name):\(Data(bytes).base64EncodedString())"
        if (try? codec.decode(bytes[...])) == nil { undecodable.keep(last, text, cost: 1) }
        return PageCursor(text)
    }

    /// - Throws: `FetchFailure`, after which the run reads the list again from page one (R22).
    func decode(_ cursor: PageCursor) throws(FetchFailure) -> Value {
        let prefix = "\(codec.name):"
        guard cursor.text.hasPrefix(prefix),
            let bytes = Data(base64Encoded: String(cursor.text.dropFirst(prefix.count)))
        else { throw FetchFailure(.rejected, "the stored cursor belongs to another source", isRetryable: false) }
        if let last = try? codec.decode(Array(bytes)[...]) { return last }
        if let last = undecodable.element(cursor.text) { return last }
        throw FetchFailure(.rejected, "the last item of the page before does not decode", isRetryable: false)
    }
}
