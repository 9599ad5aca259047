/// The outline of a list, and some of its items, as of one commit (R2).
public struct ListReading: Hashable, Sendable {
    /// The list without its items.
    public var outline: ListOutline
    /// One window for each requested range, in the order of the request. The windows match the outline. A page of the
    /// outline within a range is a part of its window, or is among `damaged` if its bytes failed their checksum.
    public var windows: [ListWindow]

    /// Creates a reading.
    public init(outline: ListOutline, windows: [ListWindow]) {
        self.outline = outline
        self.windows = windows
    }
}
