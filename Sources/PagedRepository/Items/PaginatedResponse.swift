public import PageModel

/// What a closure of an `ItemSource` may answer with: an `ItemPage`, a response of your own that is a
/// `PaginatedResponse`, or plainly an array of the items.
public protocol ItemPageConvertible<Element>: SendableMetatype {
    /// What the items are.
    associatedtype Element

    /// The answer as a page.
    var itemPage: ItemPage<Element> { get }
}

extension ItemPage: ItemPageConvertible {
    /// The page itself.
    public var itemPage: ItemPage<Value> { self }
}

extension Array: ItemPageConvertible {
    /// These items, of a list of which nothing else is said.
    public var itemPage: ItemPage<Element> { ItemPage(items: self) }
}

/// The decoded answer of an origin, as it is. A response adopts it in one line:
///
/// ```swift
/// struct Events: Decodable { let items: [Event]; let total: Int }
/// extension Events: PaginatedResponse {}
/// ```
///
/// `total` and `hasMore` are taken where there are properties of these names, optional or not, and are unknown where
/// there are none. A response that calls its items `results` says so: `var items: [Event] { results }`.
public protocol PaginatedResponse<Element>: ItemPageConvertible {
    /// What `items` holds.
    associatedtype Element
    /// `Int`, `Int?` or `Total`. A `total` of any other type is not seen.
    associatedtype Length: TotalClaim = Int?
    /// `Bool` or `Bool?`. A `hasMore` of any other type is not seen.
    associatedtype Continuation: ContinuationClaim = Bool?

    /// In the order of the list.
    var items: [Element] { get }
    /// How many items the whole list has. Default: nil, the origin does not say.
    var total: Length { get }
    /// Whether the list goes on behind these items; believed before any total (R24). Default: nil, the origin does not
    /// say.
    var hasMore: Continuation { get }
}

extension PaginatedResponse {
    /// The items, with `total` and `hasMore` as far as the response has them.
    public var itemPage: ItemPage<Element> {
        ItemPage(items: items, total: total.claimedTotal, hasMore: hasMore.claimsMore)
    }
}

extension PaginatedResponse where Length == Int? {
    /// Nil: the response says nothing of a length.
    public var total: Int? { nil }
}

extension PaginatedResponse where Continuation == Bool? {
    /// Nil: the response does not say whether the list goes on.
    public var hasMore: Bool? { nil }
}

/// A type in which responses give the length of a list.
///
/// With `Int?` alone, a response with `let total: Int` would adopt the default, nil, and its total would be lost
/// without a word: `Int` is no witness for `Int?`.
public protocol TotalClaim {
    /// What it says of the length of the list.
    var claimedTotal: Total { get }
}

extension Int: TotalClaim {
    /// The number, as an exact total; negative ones are unknown, too large ones are clamped (R44).
    public var claimedTotal: Total { Total(claimed: self) }
}

extension Optional: TotalClaim where Wrapped == Int {
    /// The number, as an exact total; unknown where there is none.
    public var claimedTotal: Total { map { Total(claimed: $0) } ?? .unknown }
}

extension Total: TotalClaim {
    /// The total itself.
    public var claimedTotal: Total { self }
}

/// A type in which responses say whether a list goes on.
public protocol ContinuationClaim {
    /// Whether the list goes on; nil: it does not say.
    var claimsMore: Bool? { get }
}

extension Bool: ContinuationClaim {
    /// The word itself.
    public var claimsMore: Bool? { self }
}

extension Optional: ContinuationClaim where Wrapped == Bool {
    /// The word itself; nil where there is none.
    public var claimsMore: Bool? { self }
}
