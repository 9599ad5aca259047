/// The number of items of a page, at least 1. Write a page size as an integer literal, or create it from another
/// number, which is checked:
///
/// ```swift
/// let fixed = ItemSource<Event>.offsets(pageSize: 20, fetch: fetch)
/// let chosen = ItemSource<Event>.offsets(pageSize: try PageSize(settings.pageSize), fetch: fetch)
/// ```
public struct PageSize: Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The number of items.
    public let count: Int

    /// - Throws: `SourceDefinitionError.pageSize(_:)` when `count` is below 1.
    public init(_ count: Int) throws(SourceDefinitionError) {
        guard count > 0 else { throw .pageSize(count) }
        self.count = count
    }

    /// Creates a page size from a literal in the program.
    /// - Precondition: the literal is at least 1.
    public init(integerLiteral literal: Int) {
        precondition(literal > 0, "a page has at least 1 item")
        count = literal
    }
}
