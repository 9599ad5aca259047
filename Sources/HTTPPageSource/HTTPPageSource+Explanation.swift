import Synchronization

extension HTTPPageSource {
    /// Everything that was decided about how the origin pages, and why, in the order in which it was found; also what
    /// was tried and did not prove itself. Empty before the first answer, unless something is stored.
    public var explanation: [Explained] {
        state.withLock { ($0.description ?? $0.earlier)?.reasons ?? [] }
    }

    /// The same from a stored lesson (`SourceLesson.source`); empty for what no HTTP source has written.
    public static func explanation(inStored source: String) -> [Explained] {
        SourceDescription(json: source)?.reasons ?? []
    }
}
