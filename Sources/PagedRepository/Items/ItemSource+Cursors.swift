import PageModel

extension ItemSource {
    /// A source in which each page hands over how to ask for the next.
    ///
    /// The cursor is stored with its page, as JSON: a later process goes on where this one stopped (R31). A stored
    /// cursor that no longer decodes is refused, and the list is walked again from page one, readable meanwhile (R22).
    /// - Parameters:
    ///   - pageSize: how many items to ask for, unless the request says. 1 or more. Default: nil, the origin decides.
    ///   - codec: how values are stored.
    ///   - id: what tells items apart; nil: nothing does. Default: the `id` of an `Identifiable` value.
    ///   - fetch: fetches what a cursor stands for; page one for nil.
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func cursors<Cursor>(
        pageSize: Int? = nil, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ cursor: Cursor?, _ size: Int?) async throws -> CursorPage<Value, Cursor>
    ) throws(SourceDefinitionError) -> ItemSource {
        if let pageSize { _ = try SourceDefinitionError.checked(pageSize: pageSize) }
        return handedOver(paging: "cursor", pageSize: pageSize, codec: codec, id: id, fetch: fetch)
    }

    /// A source in which each page names the address of the next.
    ///
    /// The links are stored with their pages, like cursors, whatever is in them. A token that an origin echoes there
    /// has to be taken out by the closure, and put back in when it asks (R45).
    /// - Parameters:
    ///   - codec: how values are stored.
    ///   - id: what tells items apart; nil: nothing does. Default: the `id` of an `Identifiable` value.
    ///   - fetch: fetches the page at an address; page one for nil.
    public static func links(
        codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ link: String?) async throws -> CursorPage<Value, String>
    ) -> ItemSource {
        handedOver(paging: "link", pageSize: nil, codec: codec, id: id) { link, _ in try await fetch(link) }
    }

    private static func handedOver<Cursor>(
        paging: String, pageSize: Int?, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)?,
        fetch: @escaping @Sendable (_ cursor: Cursor?, _ size: Int?) async throws -> CursorPage<Value, Cursor>
    ) -> ItemSource {
        let cursors = CursorCodec<Cursor>()
        return ItemSource(
            paging: paging, codec: codec, id: id, access: { .chain },
            place: { request throws(FetchFailure) in
                let size = request.size ?? pageSize
                return switch request.target {
                case .first: (cursor: Cursor?.none, size: size)
                case .cursor(let cursor): (cursor: try cursors.decode(cursor), size: size)
                case .offset: throw .notAskedThisWay("a position")
                }
            },
            bring: { place in
                let page = try await fetch(place.cursor, place.size)
                // R24: the origin's own word wins. In a chain, the engine goes by the cursor alone.
                let next = page.hasMore == false ? nil : page.next
                return Handover(
                    page: ItemPage(items: page.items, total: page.total, hasMore: page.hasMore),
                    next: try next.map { next throws(FetchFailure) in try cursors.encode(next) })
            })
    }
}

extension ItemSource where Value: Codable {
    /// The same, with values stored as JSON.
    /// - Throws: `SourceDefinitionError.pageSize(_:)` (X8).
    public static func cursors<Cursor>(
        pageSize: Int? = nil, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ cursor: Cursor?, _ size: Int?) async throws -> CursorPage<Value, Cursor>
    ) throws(SourceDefinitionError) -> ItemSource {
        try cursors(pageSize: pageSize, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }

    /// The same, with values stored as JSON.
    public static func links(
        id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ link: String?) async throws -> CursorPage<Value, String>
    ) -> ItemSource {
        links(codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}

/// Cursors as they are stored: always as JSON, texts too, so that one kind of cursor is never taken for another.
private struct CursorCodec<Cursor: Codable & Sendable>: Sendable {
    private let json = JSONItemCodec<Cursor>()

    func encode(_ cursor: Cursor) throws(FetchFailure) -> PageCursor {
        do {
            return PageCursor(String(decoding: try json.encode(cursor), as: UTF8.self))
        } catch {
            throw FetchFailure(.undecodable, "the cursor for the next page cannot be encoded", isRetryable: false)
        }
    }

    /// - Throws: `FetchFailure` that makes the engine walk again from page one (R22).
    func decode(_ cursor: PageCursor) throws(FetchFailure) -> Cursor {
        do {
            return try json.decode(Array(cursor.text.utf8)[...])
        } catch {
            throw FetchFailure(.refused, "the stored cursor is not one of this source's", isRetryable: false)
        }
    }
}
