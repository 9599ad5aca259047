import PageModel

extension ItemSource {
    /// A source in which each page returns the cursor of the next page.
    ///
    /// The cursor is stored with its page, as JSON, so a later process continues from there (R31). A stored cursor that
    /// no longer decodes is refused. The list is then read again from page one, and stays readable in the meantime
    /// (R22).
    /// - Parameters:
    ///   - pageSize: the number of items to request, unless the request sets its own. Defaults to nil,
    ///     which leaves the size to the origin.
    ///   - codec: encodes the stored values.
    ///   - id: returns the id of an item. `nil` means that items have no ids. Defaults to the `id` of an `Identifiable`
    ///     value.
    ///   - fetch: fetches the page after `cursor`, or page one when `cursor` is nil.
    public static func cursors<Cursor>(
        pageSize: PageSize? = nil, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ cursor: Cursor?, _ size: Int?) async throws -> CursorPage<Value, Cursor>
    ) -> ItemSource {
        return handedOver(paging: "cursor", pageSize: pageSize, codec: codec, id: id, fetch: fetch)
    }

    /// A source in which each page returns the address of the next page.
    ///
    /// Links are stored with their pages, as cursors are, unchanged. If an origin repeats a credential in its links,
    /// the closure must remove it from the link, and add it again before the request (R45).
    /// - Parameters:
    ///   - codec: encodes the stored values.
    ///   - id: returns the id of an item. `nil` means that items have no ids. Defaults to the `id` of an `Identifiable`
    ///     value.
    ///   - fetch: fetches the page at `link`, or page one when `link` is nil.
    public static func links(
        codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ link: String?) async throws -> CursorPage<Value, String>
    ) -> ItemSource {
        handedOver(paging: "link", pageSize: nil, codec: codec, id: id) { link, _ in try await fetch(link) }
    }

    private static func handedOver<Cursor>(
        paging: String, pageSize: PageSize?, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)?,
        fetch: @escaping @Sendable (_ cursor: Cursor?, _ size: Int?) async throws -> CursorPage<Value, Cursor>
    ) -> ItemSource {
        let cursors = CursorCodec<Cursor>()
        return ItemSource(
            paging: paging, codec: codec, id: id, access: { .chain },
            place: { request throws(FetchFailure) in
                let size = request.size ?? pageSize?.count
                return switch request.target {
                case .first: (cursor: Cursor?.none, size: size)
                case .cursor(let cursor): (cursor: try cursors.decode(cursor), size: size)
                case .offset: throw .notAskedThisWay("a position")
                }
            },
            bring: { place in
                let page = try await fetch(place.cursor, place.size)
                // The origin's `hasMore` takes precedence (R24). In a chain, a run looks only at the cursor.
                let next = page.hasMore == false ? nil : page.next
                return Handover(
                    page: page.itemPage,
                    next: try next.map { next throws(FetchFailure) in try cursors.encode(next) })
            })
    }
}

extension ItemSource where Value: Codable {
    /// Creates a source that requests each page with the cursor of the page before, and stores values as JSON.
    public static func cursors<Cursor>(
        pageSize: PageSize? = nil, id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ cursor: Cursor?, _ size: Int?) async throws -> CursorPage<Value, Cursor>
    ) -> ItemSource {
        cursors(pageSize: pageSize, codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }

    /// Creates a source that requests each page by the link of the page before, and stores values as JSON.
    public static func links(
        id: (@Sendable (Value) -> String)? = ItemSource.ownID,
        fetch: @escaping @Sendable (_ link: String?) async throws -> CursorPage<Value, String>
    ) -> ItemSource {
        links(codec: JSONItemCodec<Value>(), id: id, fetch: fetch)
    }
}

/// Converts cursors to their stored form and back. All cursors are stored as JSON, including texts, so that one type of
/// cursor is not read as another.
private struct CursorCodec<Cursor: Codable & Sendable>: Sendable {
    private let json = JSONItemCodec<Cursor>()

    func encode(_ cursor: Cursor) throws(FetchFailure) -> PageCursor {
        do {
            return PageCursor(String(decoding: try json.encode(cursor), as: UTF8.self))
        } catch {
            throw FetchFailure(.undecodable, "the cursor for the next page cannot be encoded", isRetryable: false)
        }
    }

    /// - Throws: `FetchFailure`, after which the run reads the list again from page one (R22).
    func decode(_ cursor: PageCursor) throws(FetchFailure) -> Cursor {
        do {
            return try json.decode(Array(cursor.text.utf8)[...])
        } catch {
            throw FetchFailure(.rejected, "the stored cursor belongs to another source", isRetryable: false)
        }
    }
}
