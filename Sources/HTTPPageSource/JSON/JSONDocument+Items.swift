import PageModel

extension JSONDocument {
    /// The elements of an array, or the values of an object, as the items of a page: the bytes of each as the origin
    /// sent them (R7), and its id.
    /// - Parameter id: the place of an item's id, below the item. Items without a string or number there have no id.
    /// - Throws: `FetchFailure` with class `limitExceeded` when there are more or larger items than the limits allow
    ///   (R43). The check stops one item past the limit.
    func items(of list: JSONValue, id: JSONPointer?, limits: HTTPLimits) throws(FetchFailure) -> PageContent {
        let elements = entries(of: list, atMost: limits.itemsPerPage == .max ? .max : limits.itemsPerPage + 1)
        guard elements.count <= limits.itemsPerPage else {
            throw FetchFailure(
                .limitExceeded, "the page has more than \(limits.itemsPerPage) items", isRetryable: false)
        }
        var content = PageContent(roomForItems: elements.count, bytes: list.end - list.start)
        // A name with a quote or a backslash is escaped in the text.
        var name = id.flatMap { id in
            id.tokens.count == 1 && !id.tokens[0].utf8.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
                ? id.tokens[0] : nil
        }
        for element in elements {
            guard element.end - element.start <= limits.item else {
                throw FetchFailure(.limitExceeded, "an item is larger than \(limits.item) bytes", isRetryable: false)
            }
            if name?.withUTF8({ append(element, idNamed: $0, to: &content) }) == true { continue }
            let identifier = id.flatMap { value(at: $0, below: element) }.flatMap { self.identifier($0) }
            content.append(raw(element), id: identifier?.text, type: identifier?.type ?? .string)
        }
        return content
    }

    /// Appends an item whose first member is its id: a string without an escape. Returns false for any other item.
    private func append(
        _ item: JSONValue, idNamed name: UnsafeBufferPointer<UInt8>, to content: inout PageContent
    ) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            let text = JSONBytes(bytes)
            guard text[item.start] == UInt8(ascii: "{") else { return false }
            let start = text.skipSpace(item.start + 1)
            let nameEnd = start + name.count + 1
            // The text is checked, so that a string ends before its item does.
            guard nameEnd < item.end, text[start] == UInt8(ascii: "\""), text[nameEnd] == UInt8(ascii: "\""),
                bytes[start + 1..<nameEnd].elementsEqual(name)
            else { return false }
            let value = text.skipSpace(text.skipSpace(nameEnd + 1) + 1)
            guard text[value] == UInt8(ascii: "\"") else { return false }
            let end = text.plainEnd(value + 1)
            guard text[end] == UInt8(ascii: "\"") else { return false }
            content.append(
                UnsafeBufferPointer(rebasing: bytes[item.start..<item.end]),
                id: UnsafeBufferPointer(rebasing: bytes[value + 1..<end]), type: .string)
            return true
        }
    }
}
