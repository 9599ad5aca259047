public import PagedRepository

extension ScriptedSource {
    /// A source with pages of your own items, in the format of `JSONItemCodec`. Each page can be requested once, in any
    /// order.
    ///
    /// ```swift
    /// let origin = ScriptedSource(pages: [[monday, tuesday], [wednesday]])
    /// let list = ListRepository<Event>(
    ///     storage: MemoryStorage(), codec: JSONItemCodec(), source: { _ in origin }
    /// ).list("events")
    /// ```
    /// - Parameters:
    ///   - pages: the pages of the list, in order.
    ///   - total: the total of each answer. Defaults to `nil`, which means the exact number of all items.
    ///   - onUnscripted: called at once with a request that is not in the script.
    public convenience init<Value: Codable & Sendable>(
        pages: [[Value]], total: ListTotal? = nil, onUnscripted: @escaping @Sendable (PageRequest) -> Void = { _ in }
    ) {
        let count = pages.reduce(0) { $0 + $1.count }
        var position = 0
        var steps: [Step] = []
        for items in pages {
            let page = FetchedPage(content: PageContent(values: items), total: total ?? .exact(count))
            steps.append(Step(position == 0 ? .first : .offset(position), .page(page)))
            position += items.count
        }
        self.init(steps, largestOverlap: 0, order: .any, onUnscripted: onUnscripted)
    }
}

extension PageContent {
    /// A page of these values in the format of `JSONItemCodec`, with the ids of `Identifiable` values.
    /// - Precondition: the values can be encoded as JSON.
    public init<Value: Codable & Sendable>(values: [Value]) {
        self.init()
        let codec = JSONItemCodec<Value>()
        for value in values {
            do {
                append(try codec.encode(value)[...], id: ItemSource.ownID?(value))
            } catch {
                preconditionFailure("a value of the script cannot be encoded: \(error)")
            }
        }
    }
}
