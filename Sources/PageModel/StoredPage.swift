/// A page with its items.
public struct StoredPage: Hashable, Sendable {
    /// The metadata of the page: everything except its items.
    public var summary: PageSummary
    /// The items of the page.
    public var content: PageContent

    /// A page with these items.
    public init(summary: PageSummary, content: PageContent) {
        self.summary = summary
        self.content = content
    }
}
