import PageModel

/// Items that an origin sends with different bytes than before, although their JSON is equal (R6).
extension SyncRun {
    /// Returns the items of an answer, with the stored bytes for each held item that is equal as JSON. Reads the stored
    /// items only if the hashes of some item differ, and then reads each of them at most once.
    /// - Parameters:
    ///   - content: the items of the answer.
    ///   - places: the positions at which the list holds the items, by key.
    ///   - query: the query of the list.
    func keepingBytes(
        of content: PageContent, at places: [UInt64: ItemPlace], in query: QueryID
    ) async throws(StorageError) -> PageContent {
        let differing = content.identities.compactMap { identity in
            places[identity.key].flatMap { $0.content == identity.content ? nil : $0.position }
        }
        var stored: [PageContent] = []
        for range in differing.stretches(within: max(content.count, 1)) {
            guard let window = try await storage.window(of: query, range) else { return content }
            stored += window.parts.filter(\.isHeld).map(\.content)
        }
        return stored.isEmpty ? content : content.keepingBytes(of: stored)
    }
}

extension [Int] {
    /// Returns ranges that contain these positions, ascending. Positions at most `distance` apart share a range.
    func stretches(within distance: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for position in sorted() {
            if let last = ranges.last, position - last.upperBound < distance {
                ranges[ranges.count - 1] = last.lowerBound..<Swift.max(position + 1, last.upperBound)
            } else {
                ranges.append(position..<position + 1)
            }
        }
        return ranges
    }
}
