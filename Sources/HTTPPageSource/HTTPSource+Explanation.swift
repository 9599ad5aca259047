import Synchronization

extension HTTPSource {
    /// Every decision about how the origin pages, with its reason, in the order in which the source made them. Failed
    /// attempts are included. Empty before the first answer, unless a stored paging profile was restored.
    public var explanation: [PagingDecision] {
        state.withLock { ($0.description ?? $0.earlier)?.reasons ?? [] }
    }

    /// The explanation in a stored paging profile (`DetectedPaging.source`). Empty for text that no `HTTPSource` has
    /// written.
    public static func explanation(inStored source: String) -> [PagingDecision] {
        PagingProfile(json: source)?.reasons ?? []
    }
}
