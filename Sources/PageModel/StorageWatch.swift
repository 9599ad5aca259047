/// Notices of many queries in one stream. Which ones may change at any time; at first there are none.
///
/// For who follows many lists: a stream and a task for each of them would cost more than a short list itself. A query
/// counts as observed (`PageStorage.observedQueries`, R40) from `observe` on, until it is ignored again or the stream
/// is given up.
public struct StorageWatch: Sendable {
    /// What happens to the queries that are observed, in the order in which it was committed. One task may listen. A
    /// slow one costs bounded memory: what it missed is told as `.mayHaveChanged`. Ends when the storage is closed.
    public let notices: AsyncStream<StorageNotice>
    private let begin: @Sendable (QueryID?) -> Void
    private let end: @Sendable (QueryID?) -> Void

    /// - Parameters:
    ///   - notices: what happens to the queries that are observed.
    ///   - observe: what `observe` does; returns when notices of the query come.
    ///   - ignore: what `ignore` does.
    public init(
        notices: AsyncStream<StorageNotice>, observe: @escaping @Sendable (QueryID?) -> Void,
        ignore: @escaping @Sendable (QueryID?) -> Void
    ) {
        self.notices = notices
        begin = observe
        end = ignore
    }

    /// What is committed to this query from now on is told, too; nil: to every query. Who observes twice has to ignore
    /// twice.
    public func observe(_ query: QueryID?) { begin(query) }

    /// Takes back one `observe`. What was told of the query before may still come.
    public func ignore(_ query: QueryID?) { end(query) }
}
