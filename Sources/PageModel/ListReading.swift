/// A list without its items, and some of its items, as of one commit (R2).
public struct ListReading: Hashable, Sendable {
    /// The list without its items.
    public var outline: ListOutline
    /// One for each range that was asked for, in that order. They fit the outline: a page of it is in the window that
    /// holds its positions, as a part or, when its bytes failed their checksum, as `damaged`.
    public var windows: [ListWindow]

    /// A reading; each parameter is the property of its name.
    public init(outline: ListOutline, windows: [ListWindow]) {
        self.outline = outline
        self.windows = windows
    }
}
