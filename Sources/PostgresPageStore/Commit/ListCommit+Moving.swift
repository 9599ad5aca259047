#if PostgreSQL
import PageModel

/// Edits that move positions, or change the pages and fetch records at them: cuts, shifts and joins.
extension ListCommit {
    func rearrange(_ rearrangement: Rearrangement) async throws(StorageError) -> CommitOutcome? {
        guard let moves = rearrangement.kept() else {
            throw StorageError(
                .invalidPlan, "the pieces of a rearrangement contradict each other, or exceed the largest position")
        }
        guard max(0, moves.map(\.distance).max() ?? 0) <= ListTotal.largest / 2 else {
            throw StorageError(.invalidPlan, "a rearrangement would move pages beyond the largest position")
        }
        let takenOut = rearrangement.takenOut
        guard rearrangement.movesPositions || !takenOut.isEmpty else { return nil }

        for move in moves {
            try await cut(at: move.range.lowerBound)
            try await cut(at: move.range.upperBound)
        }
        var out: [JournalDraft.TakenOut] = []
        for range in takenOut {
            out += try await takeOut(range)
            takeOutRecords(range)
        }
        // No stretch may be moved onto one that has not moved yet. Stretches that move towards the end are moved last
        // to first, and stretches that move towards the head first to last.
        let backwards = moves.reversed().filter { $0.distance > 0 }
        for move in backwards + moves.filter({ $0.distance < 0 }) {
            image.shift(move, revision: list.record.version.revision + step)
            list.holdings?.move(move.range, by: move.distance)
            for statement in LedgerRow.shift(move, in: query) { work.add(statement) }
        }
        for case .written(let page, _) in rearrangement.pieces {
            if let refusal = try await write(page, quietly: true) { return refusal }
        }
        moved = moved || rearrangement.movesPositions
        if let first = rearrangement.firstChange {
            list.record.sweep = list.record.sweep?.kept(before: first)
        }
        changes.append(.rearrangement(rearrangement, out))
        journal.rearranged(rearrangement, out)
        try await repairSeams(rearrangement)
        return nil
    }

    /// Marks seams between pieces as inferred, because no answer showed the pieces side by side (G1). Joins the small
    /// pages that resulted (R17).
    private func repairSeams(_ rearrangement: Rearrangement) async throws(StorageError) {
        for seam in rearrangement.seams where !seam.isWritten { try await markInferred(seam.position) }
        for seam in rearrangement.seams.reversed() {
            try await join(behind: seam.position, isWritten: seam.isWritten)
            try await join(before: seam.position)
        }
    }

    /// Marks the seams in `range` as verified, because one answer showed these positions just as they are held (G1).
    func verify(_ range: Range<Int>) async throws(StorageError) {
        for var row in try await image.rows(meeting: range) where isHeld(row) {
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
            if row.summary != page { image.store(row) }
        }
        changes.append(.confirmed(range))
    }

    func markStale(_ range: Range<Int>) async throws(StorageError) {
        // Positions stay the same, but plans that relied on these pages must be made again.
        moved = true
        try await cut(at: range.lowerBound)
        try await cut(at: range.upperBound)
        for var row in try await image.rows(meeting: range) where isHeld(row) {
            row.summary.generation -= 1
            image.store(row)
            list.holdings?.remove(row.summary.range, isHeld: true)
            list.holdings?.add(row.summary.range, isHeld: false)
        }
        changes.append(.markedStale(range))
        journal.dropped(range)
    }

    func truncate(at position: Int) async throws(StorageError) {
        try check(position)
        moved = true
        try await cut(at: position)
        let out = try await takeOut(position..<Int.max)
        takeOutRecords(position..<Int.max)
        if !out.isEmpty { changes.append(.truncated(position)) }
        journal.truncated(at: position, out)
    }

    /// Marks a seam as inferred, because no answer showed its two sides together (G1). The seam at position 0 counts as
    /// verified, because it has no left side.
    func markInferred(_ seam: Int) async throws(StorageError) {
        guard var row = try await image.row(at: seam) else { return }
        let evidence: Evidence = seam == 0 ? .verified : .inferred
        guard row.summary.evidence != evidence else { return }
        row.summary.evidence = evidence
        row.summary.evidenceAt = now
        image.store(row)
    }

    /// Cuts the page that has `position` inside it into two, so that a page starts at `position`. Deletes the page if
    /// its bytes are damaged.
    func cut(at position: Int) async throws(StorageError) {
        guard position > 0, position < Int.max else { return }
        for row in try await image.rows(meeting: position..<position + 1) where row.summary.offset < position {
            let page = row.summary
            let index = position - page.offset
            let stored = try await image.content(of: row)
            let usedAt = image.usedAt(row)
            delete(row)
            // Damaged bytes are not copied. The positions of the page become a gap and are fetched again.
            guard let content = stored else {
                changes.append(.dropped(page.range))
                if page.generation == generation { journal.dropped(page.range) }
                continue
            }
            let (head, tail) = page.split(at: index)
            rewrite(head, content.slice(0..<index), usedAt: usedAt)
            rewrite(tail, content.slice(index..<page.count), usedAt: usedAt)
        }
    }

    /// Joins the page at `position` with the page after it when one of the two is small. A page that this commit wrote
    /// as part of a chain is not joined.
    private func join(behind position: Int, isWritten: Bool) async throws(StorageError) {
        guard let left = try await image.row(at: position), left.summary.count > 0,
            !isWritten || left.summary.cursorOut == nil,
            let right = try await image.row(at: left.summary.range.upperBound)
        else { return }
        try await join(left, right)
    }

    /// Joins the page at `position` with the page before it when one of the two is small and the page before has no
    /// cursor.
    private func join(before position: Int) async throws(StorageError) {
        guard position > 0, let right = try await image.row(at: position),
            let left = try await image.rows(meeting: position - 1..<position).first, left.summary.cursorOut == nil
        else { return }
        try await join(left, right)
    }

    private func join(_ left: PageRow, _ right: PageRow) async throws(StorageError) {
        guard PageMerging.shouldJoin(left.summary, right.summary) else { return }
        try await image.prepareContents(of: [left, right])
        guard var content = try await image.content(of: left), let rest = try await image.content(of: right) else {
            return
        }
        content.append(contentsOf: rest)
        let uses = [image.usedAt(left), image.usedAt(right)]
        delete(left)
        delete(right)
        work.add(LedgerRow.forgettingSuccess, [.integer(query.rawValue), .int(right.summary.offset)])
        rewrite(left.summary.joined(with: right.summary), content, usedAt: uses.compactMap { $0 }.max())
    }
}
#endif
