/// The ids of a page's items, in order; nil where the origin gives none. An id becomes a `String` when somebody looks at it: most
/// who read a page do not.
public struct ItemIDs: RandomAccessCollection, Sendable {
    private let content: PageContent

    init(_ content: PageContent) { self.content = content }

    /// 0: positions are those of items in their page.
    public var startIndex: Int { 0 }
    /// How many items the page has.
    public var endIndex: Int { content.count }

    /// The id of the item at `index`, made anew each time.
    public subscript(index: Int) -> String? {
        content.withID(at: index) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }
}

extension ItemIDs: ExpressibleByArrayLiteral {
    /// Those of a page that has nothing but ids.
    public init(arrayLiteral ids: String?...) {
        self.init(PageContent(ids.map { Item(payload: [], id: $0) }))
    }
}

extension ItemIDs: Hashable {
    /// Byte by byte: two ways to write one letter are two ids.
    public static func == (one: ItemIDs, other: ItemIDs) -> Bool { PageContent.haveSameIDs(one.content, other.content) }

    /// Feeds the ids to `hasher`.
    public func hash(into hasher: inout Hasher) { content.hashIDs(into: &hasher) }
}
