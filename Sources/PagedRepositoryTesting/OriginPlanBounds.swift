/// The bounds within which an `OriginPlan` is drawn from a seed. The defaults give small lists with many events.
public struct OriginPlanBounds: Hashable, Sendable {
    /// The styles to choose from. A style that is listed twice is drawn twice as often.
    public var styles: [OriginPlan.Style]
    /// The number of items at first.
    public var count: ClosedRange<Int>
    /// The number of items in a page.
    public var pageSize: ClosedRange<Int>
    /// The number of changes and faults together.
    public var events: ClosedRange<Int>
    /// The number of the last request at which changes and faults can happen. The first request has the number 1.
    public var requests: Int
    /// Whether changes are drawn.
    public var hasChanges: Bool
    /// Whether faults are drawn.
    public var hasFaults: Bool
    /// Whether the list may occasionally be replaced or resorted as a whole, or gain or lose whole pages.
    public var hasBulkChanges: Bool
    /// Whether totals may be inexact.
    public var hasOtherTotals: Bool
    /// Whether items may lack ids, and ids may repeat.
    public var hasOtherIdentities: Bool

    /// Creates bounds. See the properties for the meaning of the parameters.
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
