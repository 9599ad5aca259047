/// A source that needs no guard if `returnsPromptly` is true: `fetch` then returns at its time limit and when its task
/// is cancelled, whatever the origin does.
package protocol PromptSource: PageSource {
    /// Whether `fetch` always returns at its time limit and on cancellation. Defaults to true.
    var returnsPromptly: Bool { get }
}

extension PromptSource {
    package var returnsPromptly: Bool { true }
}

extension PageSource {
    var isPrompt: Bool { (self as? any PromptSource)?.returnsPromptly ?? false }
}

/// Guards the calls of a source that may ignore its cancellation. A run waits for each call until the time limit of the
/// source, or for `grace` after the run was cancelled.
package struct AbandonableSource: RelayedSource {
    package let source: any PageSource

    /// How long a cancelled call may still return its answer, because the origin may have received the request. Tests
    /// set another value.
    @TaskLocal package static var grace = Duration.seconds(1)

    private init(guarding source: any PageSource) { self.source = source }

    /// Returns a source whose calls always return: `source` itself, or a guard around it.
    static func around(_ source: any PageSource) -> any PageSource {
        source.isPrompt ? source : AbandonableSource(guarding: source)
    }

    package var returnsPromptly: Bool { true }

    /// A page size out of range counts as the nearest one that cannot overflow.
    package var access: PagingAccess {
        if case .grid(let size) = source.access { return .grid(size: min(max(1, size), 1 << 40)) }
        return source.access
    }

    package func fetch(_ request: PageRequest) async throws -> PageAnswer {
        try await AbandonableCall.run(within: source.timeLimit, grace: AbandonableSource.grace) { [source] in
            try await source.fetch(request)
        }
    }
}
