package import PageModel

/// A source in front of another one. The properties that it does not define itself are those of the other source.
package protocol RelayedSource: PromptSource {
    var source: any PageSource { get }
}

extension RelayedSource {
    package var access: PagingAccess { source.access }
    package var usage: SourceUsage { source.usage }
    package var largestOverlap: Int? { source.largestOverlap }
    package var probeSize: Int? { source.probeSize }
    package var timeLimit: Duration? { source.timeLimit }
    package var returnsPromptly: Bool { source.isPrompt }
    package func authorize(_ list: QueryRecord) throws(FetchFailure) { try source.authorize(list) }
    package func restore(from list: QueryRecord) { source.restore(from: list) }
}
