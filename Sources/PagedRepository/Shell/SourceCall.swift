import PageModel

/// A list whose source is being called by the current task, or by a task that started it. A source that loads its own
/// list would wait for itself, so such a load fails at once.
struct SourceCall: Hashable, Sendable {
    /// The repository of the list.
    private let repository: ObjectIdentifier
    private let key: QueryKey

    init(_ repository: AnyObject, _ key: QueryKey) {
        self.repository = ObjectIdentifier(repository)
        self.key = key
    }

    @TaskLocal private static var current: Set<SourceCall> = []

    /// Calls `body` as a part of this list's source.
    func during<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await SourceCall.$current.withValue(SourceCall.current.union([self]), operation: body)
    }

    /// - Throws: `ListFailure` when the caller is a part of this list's source.
    func refuseWithin(_ kind: ListFailure.Kind) throws(ListFailure) {
        guard SourceCall.current.contains(self) else { return }
        throw ListFailure(
            kind,
            FetchFailure(
                .refused, "the source of a list must not load the same list: the call would wait for itself",
                isRetryable: false))
    }
}
