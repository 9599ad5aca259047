import PageModel

extension ItemSource {
    /// A source that is asked for pages by number: the closure gets the number of a page and how many items a page has.
    ///
    /// Places follow from numbers only as long as all pages have the same size. When page one brings another number of
    /// items than was asked for, and the list goes on, that is the size from then on: origins clamp sizes, or ignore
    /// them.
    /// - Parameters:
    ///   - size: how many items a page has, unless the request for page one says. 1 or more.
    ///   - firstNumber: the number of page one. Default: 1.
    ///   - codec: how values are stored.
    ///   - id: what tells items apart; nil: nothing does. Default: the `id` of an `Identifiable` value.
    ///   - fetch: fetches a page. One without items, or with fewer than usual and without `total` and `hasMore`, is the
    ///     end (R24).
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func pages<Answer: ItemPageConvertible>(
        size: Int, firstNumber: Int = 1, codec: any ItemCodec<Value>,
        id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ number: Int, _ size: Int) async throws -> Answer
    ) throws(SourceDefinitionError) -> ItemSource where Answer.Element == Value {
        let size = try SourceDefinitionError.checked(pageSize: size)
        let grid = PageGrid(size)
        return ItemSource(
            paging: "page", codec: codec, id: id, access: { .grid(size: grid.size) },
            place: { request throws(FetchFailure) in
                return switch request.target {
                case .first: (index: 0, size: request.size ?? size)
                // With another size the same number would be another place: only page one can have the size asked for.
                case .offset(let offset): try grid.page(at: offset)
                case .cursor: throw .notAskedThisWay("what a cursor stands for")
                }
            },
            bring: { place in
                let page = try await fetch(firstNumber + place.index, place.size).itemPage
                try grid.learn(page, index: place.index, asked: place.size)
                return Handover(page: page)
            })
    }
}

extension ItemSource where Value: Codable {
    /// The same, with values stored as JSON.
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func pages<Answer: ItemPageConvertible>(
        size: Int, firstNumber: Int = 1, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ number: Int, _ size: Int) async throws -> Answer
    ) throws(SourceDefinitionError) -> ItemSource where Answer.Element == Value {
        try pages(size: size, firstNumber: firstNumber, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}
