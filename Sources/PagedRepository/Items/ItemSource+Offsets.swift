import PageModel

extension ItemSource {
    /// A source that is asked for any offset: the closure gets the position of the first item, from 0, and how many
    /// items to bring.
    ///
    /// The next offset counts the items that came, however many were asked for. An origin that has page numbers is a
    /// `pages` source: an offset need not be a multiple of the size.
    /// - Parameters:
    ///   - pageSize: how many items to ask for, unless the request says. 1 or more.
    ///   - codec: how values are stored.
    ///   - id: what tells items apart; nil: nothing does. Default: the `id` of an `Identifiable` value.
    ///   - fetch: fetches the items from an offset on. An answer without items, or with fewer than usual and without
    ///     `total` and `hasMore`, is the end (R24).
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func offsets<Answer: ItemPageConvertible>(
        pageSize: Int, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ offset: Int, _ size: Int) async throws -> Answer
    ) throws(SourceDefinitionError) -> ItemSource where Answer.Element == Value {
        let pageSize = try SourceDefinitionError.checked(pageSize: pageSize)
        return ItemSource(
            paging: "offset", codec: codec, id: id, access: { .offsets },
            place: { request throws(FetchFailure) in
                let size = request.size ?? pageSize
                return switch request.target {
                case .first: (offset: 0, size: size)
                case .offset(let offset): (offset: offset, size: size)
                case .cursor: throw .notAskedThisWay("what a cursor stands for")
                }
            },
            bring: { place in Handover(page: try await fetch(place.offset, place.size).itemPage) })
    }
}

extension ItemSource where Value: Codable {
    /// The same, with values stored as JSON.
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func offsets<Answer: ItemPageConvertible>(
        pageSize: Int, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ offset: Int, _ size: Int) async throws -> Answer
    ) throws(SourceDefinitionError) -> ItemSource where Answer.Element == Value {
        try offsets(pageSize: pageSize, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}
