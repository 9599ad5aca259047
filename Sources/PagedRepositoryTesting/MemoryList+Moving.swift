import PageModel

/// Edits that move, split and join pages, and verify seams.
extension MemoryList {
    mutating func rearrange(_ rearrangement: Rearrangement, at now: Timestamp) throws(Refusal) -> ChangeSet.Change? {
        guard let moves = rearrangement.kept() else { throw .impossible("the pieces contradict each other") }
        guard (pages.last?.offset ?? 0) <= ListTotal.largest / 2 - max(0, moves.map(\.distance).max() ?? 0) else {
            throw .impossible("pages would move beyond the largest position")
        }
        let takenOut = rearrangement.takenOut
        guard rearrangement.movesPositions || !takenOut.isEmpty else { return nil }
        for range in moves.map(\.range) {
            cut(at: range.lowerBound)
            cut(at: range.upperBound)
        }
        let out = takeOut { offset in takenOut.contains { $0.contains(offset) } }
        ledger.takeOut { offset in takenOut.contains { $0.contains(offset) } }
        for index in pages.indices {
            guard let move = moves.first(where: { $0.range.contains(pages[index].offset) }), move.distance != 0 else {
                continue
            }
            pages[index].summary.offset += move.distance
            pages[index].summary.revision = record.version.revision + 1
            // The validator is void, because the page's request would now return other items (R1).
            pages[index].summary.validator = nil
        }
        ledger.shift(moves)
        if let first = rearrangement.firstChange { record.sweep = record.sweep?.kept(before: first) }
        for case .written(let page, _) in rearrangement.pieces { _ = try put(page, at: now, quietly: true) }
        for seam in rearrangement.seams where !seam.isWritten { markInferred(seam.position, now) }
        for seam in rearrangement.seams.reversed() {
            // A newly written page with a cursor is not joined with the next page. A page before a seam is joined only
            // if it has no cursor.
            let behind = pages.firstIndex {
                $0.offset == seam.position && !$0.isEmpty && !(seam.isWritten && $0.summary.cursorOut != nil)
            }
            if let behind { join(behind) }
            let before = pages.lastIndex {
                $0.range.upperBound == seam.position && !$0.isEmpty && $0.summary.cursorOut == nil
            }
            if let before { join(before) }
        }
        draft.rearranged(rearrangement, out)
        return .rearrangement(rearrangement, out)
    }

    /// Makes `position` the start of a page, if it is inside one.
    mutating func cut(at position: Int) {
        guard let index = pages.firstIndex(where: { $0.offset < position && position < $0.range.upperBound }) else {
            return
        }
        pages.replaceSubrange(index...index, with: pages[index].split(at: position - pages[index].offset))
    }

    /// Joins a page with the next one if one of the two is small (R17).
    private mutating func join(_ index: Int) {
        guard
            let next = pages.indices.first(where: { $0 > index && pages[$0].offset == pages[index].range.upperBound }),
            PageMerging.shouldJoin(pages[index].summary, pages[next].summary)
        else { return }
        let (left, right) = (pages[index], pages[next])
        pages.replaceSubrange(index...next, with: [left.joined(with: right)])
        ledger.forgetSuccess(at: right.offset)
    }

    /// Marks the seams within `range` as verified, because one answer contained its items as they are held (G1).
    mutating func verify(_ range: Range<Int>, at now: Timestamp) -> ChangeSet.Change {
        for index in pages.indices where isHeld(pages[index]) && pages[index].meets(range) {
            let page = pages[index].range
            if page.lowerBound > range.lowerBound, pages[index].summary.evidence == .inferred {
                pages[index].summary.evidence = .verified
                pages[index].summary.evidenceAt = now
            }
            pages[index].summary.innerInferredSeams.removeAll { seam in
                let position = page.lowerBound + seam.index
                return range.lowerBound < position && position < range.upperBound
            }
            if range.lowerBound <= page.lowerBound, page.upperBound <= range.upperBound {
                pages[index].summary.validatedAt = now
            }
        }
        return .confirmed(range)
    }
}
