public import PageModel

/// A type that a closure of an `ItemSource` may return: an `ItemPage`, your own `PaginatedResponse`, or an array of
/// items.
public protocol ItemPageConvertible<Element>: SendableMetatype {
    /// The type of the items.
    associatedtype Element

    /// The answer as a page.
    var itemPage: ItemPage<Element> { get }
}

extension ItemPage: ItemPageConvertible {
    /// The page itself.
    public var itemPage: ItemPage<Value> { self }
}

extension Array: ItemPageConvertible {
    /// A page of these items. The length of the list is unknown.
    public var itemPage: ItemPage<Element> { ItemPage(items: self) }
}

/// The decoded answer of an origin, unchanged. A response adopts the protocol in one line:
///
/// ```swift
/// struct Events: Decodable { let items: [Event]; let total: Int }
/// extension Events: PaginatedResponse {}
/// ```
///
/// Properties named `total` and `hasMore` are used, optional or not. Without such a property, the value is unknown. A
/// response that calls its items `results` adds `var items: [Event] { results }`.
public protocol PaginatedResponse<Element>: ItemPageConvertible {
    /// The type of the items.
    associatedtype Element
    /// `Int`, `Int?` or `ListTotal`. A `total` of any other type is ignored.
    associatedtype Length: TotalClaim = Int?
    /// `Bool` or `Bool?`. A `hasMore` of any other type is ignored.
    associatedtype Continuation: ContinuationClaim = Bool?

    /// The items in list order.
    var items: [Element] { get }
    /// The number of items in the whole list. Defaults to nil, which means that the origin does not say.
    var total: Length { get }
    /// Whether the list continues after these items. It takes precedence over any total (R24). Defaults to nil, which
    /// means that the origin does not say.
    var hasMore: Continuation { get }
}

extension PaginatedResponse {
    /// The items, with `total` and `hasMore` when the response has them.
    public var itemPage: ItemPage<Element> {
        ItemPage(items: items, total: total.claimedTotal, hasMore: hasMore.claimsMore)
    }
}

extension PaginatedResponse where Length == Int? {
    /// `nil`, because the response states no length.
    public var total: Int? { nil }
}

extension PaginatedResponse where Continuation == Bool? {
    /// `nil`, because the response does not state whether the list continues.
    public var hasMore: Bool? { nil }
}

/// A type in which a response states the length of a list.
///
/// A requirement of type `Int?` would not suffice. A property of type `Int` does not satisfy it, so a response with
/// `let total: Int` would get the default, nil, and the compiler would not warn.
public protocol TotalClaim {
    /// The stated length of the list.
    var claimedTotal: ListTotal { get }
}

extension Int: TotalClaim {
    /// The number as an exact total. A negative number is unknown, and a number that is too large is clamped (R44).
    public var claimedTotal: ListTotal { ListTotal(claimed: self) }
}

extension Optional: TotalClaim where Wrapped == Int {
    /// The number as an exact total; unknown for nil.
    public var claimedTotal: ListTotal { map { ListTotal(claimed: $0) } ?? .unknown }
}

extension ListTotal: TotalClaim {
    /// The total itself.
    public var claimedTotal: ListTotal { self }
}

/// A type in which a response states whether a list continues.
public protocol ContinuationClaim {
    /// Whether the list continues. `nil` means that the response does not say.
    var claimsMore: Bool? { get }
}

extension Bool: ContinuationClaim {
    /// The value itself.
    public var claimsMore: Bool? { self }
}

extension Optional: ContinuationClaim where Wrapped == Bool {
    /// The value itself; nil for nil.
    public var claimsMore: Bool? { self }
}
