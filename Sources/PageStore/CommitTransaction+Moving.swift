import PageModel

/// Edits that move positions, or change the records at them: cuts, shifts and joins.
extension CommitTransaction {
    mutating func rearrange(_ rearrangement: Rearrangement) throws(StorageError) -> CommitOutcome? {
        guard let moves = rearrangement.kept() else {
            throw StorageError(
                .invalidPlan, "the pieces of a rearrangement contradict each other, or exceed the largest position")
        }
        let reach = max(0, moves.map(\.distance).max() ?? 0)
        guard reach <= ListTotal.largest / 2 else {
            throw StorageError(.invalidPlan, "a rearrangement would move pages beyond the largest position")
        }
        // No list from an origin reaches these positions (R44). A row there was forged, so it is deleted (R46).
        let beyond = ListTotal.largest - reach
        for row in try rows(meeting: beyond..<Int.max) { try delete(row) }
        try LedgerTable.drop(beyond..<Int.max, query: query, in: connection)
        let takenOut = rearrangement.takenOut
        guard rearrangement.movesPositions || !takenOut.isEmpty else { return nil }

        for move in moves {
            try cut(at: move.range.lowerBound)
            try cut(at: move.range.upperBound)
        }
        var out: [JournalDraft.TakenOut] = []
        for range in takenOut {
            out += try takeOut(range)
            try LedgerTable.takeOut(range, query: query, in: connection)
        }
        // No stretch may be moved onto one that has not moved yet. Stretches that move towards the end are moved last
        // to first, and stretches that move towards the head first to last.
        let backwards = moves.reversed().filter { $0.distance > 0 }
        for move in backwards + moves.filter({ $0.distance < 0 }) {
            let isWhole = try PageTable.shift(move, revision: record.version.revision + 1, of: query, in: connection)
            if isWhole { holdings?.move(move.range, by: move.distance) } else { discardChangeTracking() }
            try LedgerTable.shift(move, query: query, in: connection)
        }
        session.identities.move(moves, in: query)
        for case .written(let page, _) in rearrangement.pieces {
            if let refusal = try write(page, quietly: true) { return refusal }
        }
        moved = moved || rearrangement.movesPositions
        if let first = rearrangement.firstChange { record.sweep = record.sweep?.kept(before: first) }
        changes.append(.rearrangement(rearrangement, out))
        journal.rearranged(rearrangement, out)
        try repairSeams(rearrangement)
        return nil
    }

    /// Marks seams between pieces as inferred, because no answer showed the pieces side by side (G1). Joins the small
    /// pages that resulted (R17).
    private mutating func repairSeams(_ rearrangement: Rearrangement) throws(StorageError) {
        for seam in rearrangement.seams {
            if !seam.isWritten { try markInferred(seam.position) }
        }
        for seam in rearrangement.seams.reversed() {
            try join(behind: seam.position, isWritten: seam.isWritten)
            try join(before: seam.position)
        }
    }

    /// Marks the seams in `range` as verified, because one answer showed these positions just as they are held (G1).
    mutating func verify(_ range: Range<Int>) throws(StorageError) {
        for var row in try rows(meeting: range) where row.summary.generation == record.version.generation {
            let page = row.summary
            if page.offset > range.lowerBound, page.evidence == .inferred {
                row.summary.evidence = .verified
                row.summary.evidenceAt = now
            }
            row.summary.innerInferredSeams.removeAll {
                page.offset + $0.index > range.lowerBound && page.offset + $0.index < range.upperBound
            }
            if page.offset >= range.lowerBound, page.range.upperBound <= range.upperBound {
                row.summary.validatedAt = now
            }
            if row.summary != page { try PageTable.store(row, of: query, in: connection) }
        }
        changes.append(.confirmed(range))
    }

    mutating func markStale(_ range: Range<Int>) throws(StorageError) {
        // Positions stay the same, but plans that relied on these pages must be made again.
        moved = true
        try cut(at: range.lowerBound)
        try cut(at: range.upperBound)
        for var row in try rows(meeting: range) where row.summary.generation == record.version.generation {
            row.summary.generation -= 1
            try PageTable.store(row, of: query, in: connection)
            holdings?.remove(row.summary.range, isHeld: true)
            holdings?.add(row.summary.range, isHeld: false)
        }
        changes.append(.markedStale(range))
        journal.dropped(range)
    }

    mutating func truncate(at position: Int) throws(StorageError) {
        try check(position)
        moved = true
        try cut(at: position)
        let out = try takeOut(position..<Int.max)
        try LedgerTable.takeOut(position..<Int.max, query: query, in: connection)
        if !out.isEmpty { changes.append(.truncated(position)) }
        journal.truncated(at: position, out)
    }

    /// Marks a seam as inferred, because no answer showed its two sides together (G1). The seam at position 0 counts as
    /// verified, because it has no left side.
    func markInferred(_ seam: Int) throws(StorageError) {
        guard var row = try PageTable.row(at: seam, of: query, in: connection) else { return }
        let evidence: Evidence = seam == 0 ? .verified : .inferred
        guard row.summary.evidence != evidence else { return }
        row.summary.evidence = evidence
        row.summary.evidenceAt = now
        try PageTable.store(row, of: query, in: connection)
    }

    /// Makes `position` the start of a page if it is inside one.
    mutating func cut(at position: Int) throws(StorageError) {
        guard position < Int.max else { return }
        for row in try rows(meeting: position..<position + 1) where row.summary.offset < position {
            let page = row.summary
            let index = position - page.offset
            let stored = try BodyTable.content(of: row, in: connection)
            let usedAt = try AccessTable.usedAt(row.body, in: connection)
            try delete(row)
            // Damaged bytes are not copied. The positions become a gap and are fetched again.
            guard let content = stored else {
                changes.append(.dropped(page.range))
                if page.generation == record.version.generation { journal.dropped(page.range) }
                continue
            }
            let (head, tail) = page.split(at: index)
            try rewrite(head, content.slice(0..<index), usedAt: usedAt)
            try rewrite(tail, content.slice(index..<page.count), usedAt: usedAt)
        }
    }

    /// Joins the page at `position` with the page after it when one of the two is small. A page that this commit wrote
    /// with a cursor is not joined.
    private mutating func join(behind position: Int, isWritten: Bool) throws(StorageError) {
        guard let left = try PageTable.row(at: position, of: query, in: connection), left.summary.count > 0,
            !isWritten || left.summary.cursorOut == nil,
            let right = try PageTable.row(at: left.summary.range.upperBound, of: query, in: connection)
        else { return }
        try join(left, right)
    }

    /// Joins the page at `position` with the page before it when one of the two is small and the page before has no
    /// cursor.
    private mutating func join(before position: Int) throws(StorageError) {
        guard position > 0, let right = try PageTable.row(at: position, of: query, in: connection),
            let left = try PageTable.rows(meeting: position - 1..<position, of: query, in: connection).first,
            left.summary.cursorOut == nil
        else { return }
        try join(left, right)
    }

    private mutating func join(_ left: PageRow, _ right: PageRow) throws(StorageError) {
        guard PageMerging.shouldJoin(left.summary, right.summary),
            var content = try BodyTable.content(of: left, in: connection),
            let rest = try BodyTable.content(of: right, in: connection)
        else { return }
        content.append(contentsOf: rest)
        let uses = [
            try AccessTable.usedAt(left.body, in: connection), try AccessTable.usedAt(right.body, in: connection),
        ]
        try delete(left)
        try delete(right)
        try LedgerTable.forgetSuccess(at: right.summary.offset, query: query, in: connection)
        try rewrite(left.summary.joined(with: right.summary), content, usedAt: uses.compactMap { $0 }.max())
    }
}
