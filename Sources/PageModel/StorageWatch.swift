/// Notices for many queries in one stream. The set of observed queries may change at any time, and is empty at first.
///
/// Use a watch to follow many lists: one stream and one task for each list would cost more than a short list itself. A
/// query counts as observed (`PageStorage.observedQueries`, R40) from `subscribe` to `unsubscribe`, or until the stream
/// is dropped.
public struct StorageWatch: Sendable {
    /// The notices of the observed queries, in the order of their commits. Only one task may iterate over the stream. A
    /// slow task needs bounded memory: missed changes are merged into `.invalidated`. The stream ends when the
    /// storage is closed.
    public let notices: AsyncStream<StorageNotice>
    private let begin: @Sendable (QueryID?) -> Void
    private let end: @Sendable (QueryID?) -> Void

    /// A watch from its stream and its actions.
    /// - Parameters:
    ///   - notices: the notices of the observed queries.
    ///   - subscribe: the action of `subscribe`. It returns once notices of the query are delivered.
    ///   - unsubscribe: the action of `unsubscribe`.
    public init(
        notices: AsyncStream<StorageNotice>, subscribe: @escaping @Sendable (QueryID?) -> Void,
        unsubscribe: @escaping @Sendable (QueryID?) -> Void
    ) {
        self.notices = notices
        begin = subscribe
        end = unsubscribe
    }

    /// Adds a query to the observed queries; `nil` adds all queries. Each call needs its own call of `unsubscribe`.
    public func subscribe(_ query: QueryID?) { begin(query) }

    /// Reverts one call of `subscribe`. Notices that are already pending may still arrive.
    public func unsubscribe(_ query: QueryID?) { end(query) }
}
