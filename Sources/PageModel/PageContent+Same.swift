/// Items whose bytes differ and that say the same (R6).
extension PageContent {
    /// These items, with the stored bytes in place of those of every item that is held and equal as JSON: what was
    /// stored first stays (R7). Payloads that are not JSON are left as they are, and so is everything that `stored` does
    /// not hold.
    /// - Parameter stored: pages that hold some of the items, at any place.
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

    /// Whether both pages hold the same items in the same order: each with the same id, and the same bytes or equal as
    /// JSON.
    package func isSame(as other: PageContent) -> Bool {
        guard count == other.count, ids == other.ids else { return false }
        return places.indices.allSatisfy { isSame($0, as: $0, of: other) }
    }

    /// Whether the item at `index` is the one at `place` of another page: by its id, and by its bytes or as JSON.
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
