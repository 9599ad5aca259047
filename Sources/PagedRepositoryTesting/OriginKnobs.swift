/// Between which bounds an `OriginPlan` is drawn from a seed. The defaults give small lists in which much happens.
public struct OriginKnobs: Hashable, Sendable {
    /// The styles to choose from; a style that stands here twice comes twice as often.
    public var styles: [OriginPlan.Style]
    /// How many items there are at first.
    public var count: ClosedRange<Int>
    /// How many items a page has.
    public var pageSize: ClosedRange<Int>
    /// How many changes and faults there are in all.
    public var events: ClosedRange<Int>
    /// Changes and faults happen at requests from 1 to this one.
    public var requests: Int
    /// Whether the list changes while it is read.
    public var hasChanges: Bool
    /// Whether requests go wrong.
    public var hasFaults: Bool
    /// Whether everything may be replaced or resorted, and whole pages come or go at once: rarely, when it may be.
    public var hasBulkChanges: Bool
    /// Whether totals may be anything but exact.
    public var hasOtherTotals: Bool
    /// Whether items may be without ids, and ids may repeat.
    public var hasOtherIdentities: Bool

    /// Bounds; each parameter is the property of its name.
    public init(
        styles: [OriginPlan.Style] = [.offset, .offset, .page, .page, .cursor, .link, .keyset, .keyset],
        count: ClosedRange<Int> = 0...200, pageSize: ClosedRange<Int> = 3...12, events: ClosedRange<Int> = 0...12,
        requests: Int = 60, hasChanges: Bool = true, hasFaults: Bool = true, hasBulkChanges: Bool = true,
        hasOtherTotals: Bool = true, hasOtherIdentities: Bool = true
    ) {
        self.styles = styles
        self.count = count
        self.pageSize = pageSize
        self.events = events
        self.requests = requests
        self.hasChanges = hasChanges
        self.hasFaults = hasFaults
        self.hasBulkChanges = hasBulkChanges
        self.hasOtherTotals = hasOtherTotals
        self.hasOtherIdentities = hasOtherIdentities
    }
}
