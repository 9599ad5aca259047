import PageModel

extension ItemSource {
    /// A source whose origin accepts any offset. The closure receives the position of the first item, from 0, and the
    /// number of items to fetch.
    ///
    /// The next offset is the position after the received items, however many were requested. Without an exact total,
    /// the first page that continues a list begins with the last held item instead (R21). Offsets need not be multiples
    /// of the size, so use `pages` for an origin with page numbers.
    /// - Parameters:
    ///   - pageSize: the number of items to request, unless the request sets its own.
    ///   - codec: encodes the stored values.
    ///   - id: returns the id of an item. `nil` means that items have no ids. Defaults to the `id` of an `Identifiable`
    ///     value.
    ///   - fetch: fetches `size` items from `offset` on. The list ends with an empty answer, or with a shorter one that
    ///     states neither `total` nor `hasMore` (R24).
    public static func offsets<Answer: ItemPageConvertible>(
        pageSize: PageSize, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ offset: Int, _ size: Int) async throws -> Answer
    ) -> ItemSource where Answer.Element == Value {
        let pageSize = pageSize.count
        return ItemSource(
            paging: "offset", codec: codec, id: id, access: { .offsets }, requestedSize: { pageSize },
            place: { request throws(FetchFailure) in
                let size = request.size ?? pageSize
                return switch request.target {
                case .first: (offset: 0, size: size)
                case .offset(let offset): (offset: offset, size: size)
                case .cursor: throw .notAskedThisWay("the page of a cursor")
                }
            },
            bring: { place in Handover(page: try await fetch(place.offset, place.size).itemPage) })
    }
}

extension ItemSource where Value: Codable {
    /// Creates a source that requests items by offset and size, and stores values as JSON.
    public static func offsets<Answer: ItemPageConvertible>(
        pageSize: PageSize, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ offset: Int, _ size: Int) async throws -> Answer
    ) -> ItemSource where Answer.Element == Value {
        offsets(pageSize: pageSize, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}
