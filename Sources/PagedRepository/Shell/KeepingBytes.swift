import PageModel

/// Items that an origin sends in other bytes than before, though they say the same (R6).
extension SyncRun {
    /// The items of an answer, with the stored bytes in place of those of each item that is held and equal as JSON.
    /// Nothing is read where every item that is held has the hash that was sent; else each stored page once.
    /// - Parameter places: where the list holds the items, by key.
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
    /// The ranges that hold these positions, ascending. Positions that lie at most `distance` apart share a range.
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
