import PageModel

extension JSONDocument {
    /// The elements of an array, or the values of an object, as the items of a page: the bytes of each as the origin sent them (R7), and its id.
    /// - Parameter id: the place of an item's id, below the item. Items without a string or number there have no id.
    /// - Throws: `FetchFailure` with class `limitExceeded` when there are more or larger items than the limits allow (R43).
    ///   The check stops one item past the limit.
    func items(of list: JSONValue, id: JSONPointer?, limits: HTTPLimits) throws(FetchFailure) -> PageContent {
        let elements = entries(of: list, atMost: limits.itemsPerPage == .max ? .max : limits.itemsPerPage + 1)
        guard elements.count <= limits.itemsPerPage else {
            throw FetchFailure(
                .limitExceeded, "the page has more than \(limits.itemsPerPage) items", isRetryable: false)
        }
        var content = PageContent(roomForItems: elements.count, bytes: list.end - list.start)
        for element in elements {
            guard element.end - element.start <= limits.item else {
                throw FetchFailure(.limitExceeded, "an item is larger than \(limits.item) bytes", isRetryable: false)
            }
            let identifier = id.flatMap { value(at: $0, below: element) }.flatMap { self.identifier($0) }
            content.append(raw(element), id: identifier?.text, type: identifier?.type ?? .string)
        }
        return content
    }
}
