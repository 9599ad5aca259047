public import PageModel

/// One page of typed items, as a closure of an `ItemSource` returns it.
public struct ItemPage<Value> {
    /// The items in list order. The page may have more or fewer items than were requested.
    public var items: [Value]
    /// The length of the whole list, as this answer states it. Defaults to `unknown`.
    public var total: ListTotal
    /// Whether the list continues after these items, as the origin states it. It takes precedence over any total (R24).
    /// `nil` means that the origin does not say. Defaults to nil.
    public var hasMore: Bool?
    /// The `ETag` of the answer, as received, with quotes. Only the value of page one is used. A later request for page
    /// one then has a `ConditionalRequest.validator`. Defaults to nil.
    public var entityTag: String?
    /// The `Last-Modified` of the answer, as received. Defaults to nil.
    public var lastModified: String?
    /// How long the origin calls the answer fresh (`max-age`). Only the value of page one is used. `nil` means that the
    /// origin does not say. Defaults to nil.
    public var freshFor: Duration?
    /// Whether the answer may be stored. False (`no-store`) keeps its items in memory only. Defaults to true.
    public var mayBeStored = true
    /// Whether the origin confirms the stored page instead of sending it again; see `notModified`.
    public private(set) var isNotModified = false

    /// The answer "not modified" (304) to a request with a `ConditionalRequest.validator`.
    /// - Parameter total: the length of the list, as this answer states it. Defaults to `unknown`.
    public static func notModified(total: ListTotal = .unknown) -> ItemPage {
        var page = ItemPage(items: [], total: total)
        page.isNotModified = true
        return page
    }

    /// Creates a page of these items. An omitted parameter means that the origin does not state the value.
    public init(items: [Value], total: ListTotal = .unknown, hasMore: Bool? = nil) {
        self.items = items
        self.total = total
        self.hasMore = hasMore
    }

    /// - Parameters:
    ///   - items: the items in list order.
    ///   - total: the number of items that the origin reports. `nil` means that it reports none. A negative number
    ///     counts as unknown, and a number that is too large is clamped (R44).
    ///   - hasMore: whether the list continues. `nil` means that the origin does not say.
    public init(items: [Value], total: Int?, hasMore: Bool? = nil) {
        self.init(items: items, total: total.claimedTotal, hasMore: hasMore)
    }
}

/// One page of typed items with the cursor of the next page, as the closures of cursor and link sources return it.
public struct CursorPage<Value, Cursor: Codable & Sendable> {
    /// The items in list order. A page may have a next cursor and no items. At most `SyncOptions.emptyPageLimit` such
    /// pages in a row are followed (R24).
    public var items: [Value]
    /// The cursor of the next page. `nil` means that the list ends here. The cursor is stored with the page as JSON, so
    /// it must not hold secrets (R45). Equal cursors must encode to equal bytes, so that a loop is detected (R24).
    public var next: Cursor?
    /// The length of the whole list, as this answer states it. Defaults to `unknown`.
    public var total: ListTotal
    /// Whether the list continues, for origins whose last page has a cursor too. False ends the list, whatever `next`
    /// is. Defaults to nil, which leaves the decision to `next`.
    public var hasMore: Bool?
    /// The `ETag` of the answer, as received, with quotes. Only the value of page one is used. A later request for page
    /// one then has a `ConditionalRequest.validator`. Defaults to nil.
    public var entityTag: String?
    /// The `Last-Modified` of the answer, as received. Defaults to nil.
    public var lastModified: String?
    /// How long the origin calls the answer fresh (`max-age`). Only the value of page one is used. `nil` means that the
    /// origin does not say. Defaults to nil.
    public var freshFor: Duration?
    /// Whether the answer may be stored. False (`no-store`) keeps its items in memory only. Defaults to true.
    public var mayBeStored = true
    /// Whether the origin confirms the stored page instead of sending it again; see `notModified`.
    public private(set) var isNotModified = false

    /// The answer "not modified" (304) to a request with a `ConditionalRequest.validator`.
    /// - Parameter total: the length of the list, as this answer states it. Defaults to `unknown`.
    public static func notModified(total: ListTotal = .unknown) -> CursorPage {
        var page = CursorPage(items: [], next: nil, total: total)
        page.isNotModified = true
        return page
    }

    /// The page without its cursor.
    var itemPage: ItemPage<Value> {
        if isNotModified { return .notModified(total: total) }
        var page = ItemPage(items: items, total: total, hasMore: hasMore)
        (page.entityTag, page.lastModified) = (entityTag, lastModified)
        (page.freshFor, page.mayBeStored) = (freshFor, mayBeStored)
        return page
    }

    /// Creates a page of these items, with the cursor of the next page. An omitted parameter means that the origin does
    /// not state the value.
    public init(items: [Value], next: Cursor?, total: ListTotal = .unknown, hasMore: Bool? = nil) {
        self.items = items
        self.next = next
        self.total = total
        self.hasMore = hasMore
    }

    /// - Parameters:
    ///   - items: the items in list order.
    ///   - next: the cursor of the next page. `nil` means that the list ends here.
    ///   - total: the number of items that the origin reports. `nil` means that it reports none. A negative number
    ///     counts as unknown, and a number that is too large is clamped (R44).
    ///   - hasMore: whether the list continues. `nil` means that the origin does not say.
    public init(items: [Value], next: Cursor?, total: Int?, hasMore: Bool? = nil) {
        self.init(items: items, next: next, total: total.claimedTotal, hasMore: hasMore)
    }
}

extension ItemPage: Sendable where Value: Sendable {}
extension CursorPage: Sendable where Value: Sendable {}
