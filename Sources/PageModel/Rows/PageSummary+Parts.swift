// Pages that a commit makes from other pages. Every storage on disk splits and joins pages with these functions.
extension PageSummary {
    /// Splits the page into its items before `index` and the items from there on. Neither half is the answer to a
    /// request, so neither has a validator (R1). Each half keeps the cursor at its outer end. The fingerprints are
    /// those of the whole page.
    package func split(at index: Int) -> (head: PageSummary, tail: PageSummary) {
        var head = self
        head.count = index
        head.cursorOut = nil
        head.validator = nil
        head.innerInferredSeams = innerInferredSeams.filter { $0.index < index }
        let here = innerInferredSeams.first { $0.index == index }
        var tail = self
        tail.offset = offset + index
        tail.count = count - index
        tail.cursorIn = nil
        tail.validator = nil
        tail.evidence = here == nil ? .verified : .inferred
        tail.evidenceAt = here?.since ?? fetchedAt
        tail.innerInferredSeams = innerInferredSeams.filter { $0.index > index }.map {
            InnerSeam(index: $0.index - index, since: $0.since)
        }
        return (head, tail)
    }

    /// Joins the page with the page after it. The result has the age of the older page, and the fingerprint of this
    /// page.
    package func joined(with next: PageSummary) -> PageSummary {
        var joined = self
        // G1: an inferred seam between the pages stays inferred inside the joined page.
        if next.evidence == .inferred {
            joined.innerInferredSeams.append(InnerSeam(index: count, since: next.evidenceAt))
        }
        joined.innerInferredSeams += next.innerInferredSeams.map {
            InnerSeam(index: $0.index + count, since: $0.since)
        }
        joined.count += next.count
        joined.fetchedAt = min(fetchedAt, next.fetchedAt)
        joined.validatedAt = min(validatedAt, next.validatedAt)
        joined.cursorOut = next.cursorOut
        joined.validator = nil
        return joined
    }
}

extension PageContent {
    /// Returns whether the stored page holds one of these items, and not only an item with an equal hash.
    package func sharesItems(with stored: PageContent) -> Bool {
        let ids = Set((0..<count).compactMap { self.ids.bytes(at: $0) })
        let keys = identities.map(\.key)
        let anonymous = Dictionary(grouping: (0..<count).filter { self.ids.type(at: $0) == nil }) { keys[$0] }
        for (index, identity) in stored.identities.enumerated() {
            if let id = stored.ids.bytes(at: index) {
                if ids.contains(id) { return true }
            } else if anonymous[identity.key]?.contains(where: { isSame($0, as: index, of: stored) }) ?? false {
                return true
            }
        }
        return false
    }
}
