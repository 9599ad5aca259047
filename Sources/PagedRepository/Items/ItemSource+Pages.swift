import PageModel

extension ItemSource {
    /// A source whose origin has page numbers. The closure receives the number of a page and the number of items in a
    /// page.
    ///
    /// Positions follow from page numbers only while all pages have the same size. Some origins clamp the size, or
    /// ignore it. When page one has another number of items than requested, and the list continues, positions are
    /// counted with the number that page one has. For every page, the closure receives the size that was requested for
    /// page one.
    /// - Parameters:
    ///   - size: the number of items in a page, unless the request for page one sets its own.
    ///   - firstNumber: the number of page one. Defaults to 1.
    ///   - codec: encodes the stored values.
    ///   - id: returns the id of an item. `nil` means that items have no ids. Defaults to the `id` of an `Identifiable`
    ///     value.
    ///   - fetch: fetches the page with this number. The list ends with an empty page, or with a shorter one that
    ///     states neither `total` nor `hasMore` (R24).
    public static func pages<Answer: ItemPageConvertible>(
        size: PageSize, firstNumber: Int = 1, codec: any ItemCodec<Value>,
        id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ number: Int, _ size: Int) async throws -> Answer
    ) -> ItemSource where Answer.Element == Value {
        let size = size.count
        let grid = PageGrid(size)
        return ItemSource(
            paging: "page", codec: codec, id: id, access: { .grid(size: min(grid.size, 1 << 40)) },
            requestedSize: { grid.requested },
            place: { request throws(FetchFailure) in
                return switch request.target {
                case .first: (index: 0, size: request.size ?? size)
                // With another size the same number would mean other positions, so only page one uses the size of the
                // request.
                case .offset(let offset): try grid.page(at: offset)
                case .cursor: throw .notAskedThisWay("the page of a cursor")
                }
            },
            bring: { place in
                let (number, isBeyond) = firstNumber.addingReportingOverflow(place.index)
                if isBeyond { throw FetchFailure.notAskedThisWay("a page after number \(Int.max)") }
                let page = try await fetch(number, place.size).itemPage
                try grid.learn(page, index: place.index, asked: place.size)
                return Handover(page: page)
            })
    }
}

extension ItemSource where Value: Codable {
    /// Creates a source that requests pages by number, and stores values as JSON.
    public static func pages<Answer: ItemPageConvertible>(
        size: PageSize, firstNumber: Int = 1, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ number: Int, _ size: Int) async throws -> Answer
    ) -> ItemSource where Answer.Element == Value {
        pages(size: size, firstNumber: firstNumber, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}
