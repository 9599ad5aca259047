public import PageModel

/// One page of typed items: what a closure of an `ItemSource` answers.
public struct ItemPage<Value> {
    /// In the order of the list. More or fewer than were asked for are fine.
    public var items: [Value]
    /// What this answer says of the length of the whole list. Default: `unknown`.
    public var total: Total
    /// Whether the list goes on behind these items, where the origin says so itself: it is believed before any total
    /// (R24). Default: nil, it does not say.
    public var hasMore: Bool?

    /// A page of these items; what is left out, the origin does not say.
    public init(items: [Value], total: Total = .unknown, hasMore: Bool? = nil) {
        self.items = items
        self.total = total
        self.hasMore = hasMore
    }

    /// - Parameters:
    ///   - items: in the order of the list.
    ///   - total: the number that the origin counts; nil: it does not count. Negative ones are taken for unknown, too
    ///     large ones are clamped (R44).
    ///   - hasMore: whether the list goes on; nil: the origin does not say.
    public init(items: [Value], total: Int?, hasMore: Bool? = nil) {
        self.init(items: items, total: total.claimedTotal, hasMore: hasMore)
    }
}

/// One page of typed items that hands over how to ask for the next: what the closures of cursor and link sources
/// answer.
public struct CursorPage<Value, Cursor: Codable & Sendable> {
    /// In the order of the list. A page without items and with a next one is legal, though not for ever (R24).
    public var items: [Value]
    /// What to ask for behind these items; nil at the end. Stored with the page as JSON, so it must not hold secrets
    /// (R45), and equal cursors must encode alike: by that, an origin that runs in circles is seen (R24).
    public var next: Cursor?
    /// What this answer says of the length of the whole list. Default: `unknown`.
    public var total: Total
    /// Whether the list goes on, for origins whose last page has a cursor, too: false ends the list whatever `next` is.
    /// Default: nil, `next` tells.
    public var hasMore: Bool?

    /// A page of these items, and how to go on; what is left out, the origin does not say.
    public init(items: [Value], next: Cursor?, total: Total = .unknown, hasMore: Bool? = nil) {
        self.items = items
        self.next = next
        self.total = total
        self.hasMore = hasMore
    }

    /// - Parameters:
    ///   - items: in the order of the list.
    ///   - next: what to ask for behind these items; nil at the end.
    ///   - total: the number that the origin counts; nil: it does not count. Negative ones are taken for unknown, too
    ///     large ones are clamped (R44).
    ///   - hasMore: whether the list goes on; nil: the origin does not say.
    public init(items: [Value], next: Cursor?, total: Int?, hasMore: Bool? = nil) {
        self.init(items: items, next: next, total: total.claimedTotal, hasMore: hasMore)
    }
}

extension ItemPage: Sendable where Value: Sendable {}
extension CursorPage: Sendable where Value: Sendable {}
