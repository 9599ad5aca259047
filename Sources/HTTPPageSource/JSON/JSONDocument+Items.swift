import PageModel

extension JSONDocument {
    /// The elements of an array as the items of a page: each as it was sent (R7), and its id.
    /// - Parameter id: where an item's id stands, below the item. Items that have no string or number there have no id.
    /// - Throws: `hostile`, when there are more items or larger ones than the limits allow (R43). It is noticed before more than
    ///   that many are listed.
    func items(of list: JSONValue, id: JSONPointer?, limits: HTTPLimits) throws(FetchFailure) -> PageContent {
        let elements = elements(of: list, atMost: limits.itemsPerPage == .max ? .max : limits.itemsPerPage + 1)
        guard elements.count <= limits.itemsPerPage else {
            throw FetchFailure(.hostile, "the page has more than \(limits.itemsPerPage) items", isRetryable: false)
        }
        var (payloads, ends, ids): ([UInt8], [Int], [String?]) = ([], [], [])
        payloads.reserveCapacity(list.end - list.start)
        ends.reserveCapacity(elements.count)
        ids.reserveCapacity(elements.count)
        for element in elements {
            guard element.end - element.start <= limits.item else {
                throw FetchFailure(.hostile, "an item is larger than \(limits.item) bytes", isRetryable: false)
            }
            payloads.append(contentsOf: raw(element))
            ends.append(payloads.count)
            ids.append(id.flatMap { value(at: $0, below: element) }.flatMap { identifier($0) })
        }
        guard let content = PageContent(bytes: payloads, ends: ends, ids: ids) else {
            preconditionFailure("an end and an id for each item")
        }
        return content
    }
}
