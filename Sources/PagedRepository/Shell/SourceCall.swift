import PageModel
import Synchronization

/// A list whose source is being called by the current task, or by a task that started it. A source that loads its own
/// list would wait for itself, so such a load fails at once.
struct SourceCall: Hashable, Sendable {
    /// The storage of the list. Two repositories with one storage share their lists.
    private let storage: ObjectIdentifier
    private let key: QueryKey

    init(_ storage: any PageStorage, _ key: QueryKey) {
        self.storage = ObjectIdentifier(storage as AnyObject)
        self.key = key
    }

    /// One call of a source. Tasks that the source starts inherit the mark, and may outlive the call.
    private final class Mark: Sendable {
        let hasEnded = Atomic(false)
    }

    @TaskLocal private static var current: [SourceCall: Mark] = [:]

    /// Calls `body` as a call of this list's source.
    func during<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        let mark = Mark()
        defer { mark.hasEnded.store(true, ordering: .relaxed) }
        let calls = SourceCall.current.merging([self: mark]) { isUnderWay($0) ? $0 : $1 }
        return try await SourceCall.$current.withValue(calls, operation: body)
    }

    private func isUnderWay(_ mark: Mark) -> Bool { !mark.hasEnded.load(ordering: .relaxed) }

    /// Whether the caller runs within a call of this list's source.
    var isUnderWay: Bool { SourceCall.current[self].map(isUnderWay) ?? false }

    /// - Throws: `ListFailure` when the caller runs within a call of this list's source.
    func refuseWithin(_ kind: ListFailure.Kind) throws(ListFailure) {
        guard isUnderWay else { return }
        throw ListFailure(
            kind,
            FetchFailure(
                .rejected, "the source of a list must not load the same list: the call would wait for itself",
                isRetryable: false))
    }
}
