/// Comparison of items by their JSON values, for items whose bytes differ (R6).
extension PageContent {
    /// Returns these items. An item that `stored` holds with equal JSON gets the stored bytes, so that the bytes that
    /// were stored first stay (R7). All other items keep their bytes: items that are missing in `stored`, and items
    /// whose payload is not JSON.
    /// - Parameter stored: pages that hold some of the items, at any index.
    package func keepingBytes(of stored: [PageContent]) -> PageContent {
        let (mine, theirs) = (identities, stored.map(\.identities))
        var places: [UInt64: (page: Int, index: Int)] = [:]
        for (page, identities) in theirs.enumerated() {
            for (index, identity) in identities.enumerated() where places[identity.key] == nil {
                places[identity.key] = (page, index)
            }
        }
        var known: [Int: (page: Int, index: Int)] = [:]
        for (index, identity) in mine.enumerated() {
            guard let place = places[identity.key],
                theirs[place.page][place.index].content != identity.content,
                isSame(index, as: place.index, of: stored[place.page])
            else { continue }
            known[index] = place
        }
        guard !known.isEmpty else { return self }
        var kept = PageContent(roomForItems: count, bytes: bytes.count)
        for index in 0..<count {
            if let place = known[index] {
                kept.append(place.index..<place.index + 1, of: stored[place.page])
            } else {
                kept.append(index..<index + 1, of: self)
            }
        }
        return kept
    }

    /// Whether both pages hold the same items in the same order. Two items are the same if their ids are equal, and
    /// their payloads are equal as bytes or as JSON.
    package func isSame(as other: PageContent) -> Bool {
        guard count == other.count, ids == other.ids else { return false }
        return places.indices.allSatisfy { isSame($0, as: $0, of: other) }
    }

    /// Whether the item at `index` is the same as the item at `place` of another page. Their ids have to be equal, and
    /// their payloads equal as bytes or as JSON.
    package func isSame(_ index: Int, as place: Int, of other: PageContent) -> Bool {
        guard ids.bytes(at: index) == other.ids.bytes(at: place) else { return false }
        return bytes.withUnsafeBytes { mine in
            other.bytes.withUnsafeBytes { theirs in
                let one = UnsafeRawBufferPointer(rebasing: mine[byteRange(of: index)])
                let another = UnsafeRawBufferPointer(rebasing: theirs[other.byteRange(of: place)])
                return one.elementsEqual(another) || JSONComparison.areEqual(one, another)
            }
        }
    }
}
