#if PostgreSQL
import PageModel

/// Edits that write a page or confirm that a page is unchanged.
extension ListCommit {
    /// Stores a page. If the list already holds the same page, updates only its age, validator, cursors and evidence.
    /// Refuses the page if the list holds other items at its positions. Also refuses the page if one of its ids is held
    /// elsewhere, unless the list allows repeated ids.
    /// - Parameter quietly: whether the caller records the change, so that this call neither announces it nor adds it
    ///   to the journal.
    /// - Returns: `nil` when the page is stored, or was already held with the same items. Otherwise the refusal.
    /// - Throws: `invalidPlan` for an offset out of range.
    func write(_ page: PageWrite, quietly: Bool = false) async throws(StorageError) -> CommitOutcome? {
        guard page.offset >= 0, page.offset <= ListTotal.largest - page.content.count else {
            throw StorageError(.invalidPlan, "the offset \(page.offset) of a page is out of range")
        }
        let identities = page.content.identities
        let fingerprint = PageContent.fingerprint(of: identities)
        // A page without items still occupies its own offset.
        let place = page.offset..<page.offset + max(page.content.count, 1)
        let there = try await image.rows(meeting: place)
        for row in there {
            let held = row.summary
            if isHeld(row), held.count > 0 {
                // Another commit has stored this page already, so its items stay (R6).
                guard held.offset == page.offset, try await holds(row, page.content, fingerprint) else {
                    return .duplicates([held.range])
                }
                updateMetadata(row, with: page)
                return nil
            }
            if held.offset == page.offset, held.count == page.content.count, held.count > 0,
                try await image.content(of: row)?.isSame(as: page.content) ?? false
            {
                // The refetched page is unchanged. It counts as held again and no item is rewritten (R6).
                var revived = row
                revived.summary = summary(of: page, held.fingerprint)
                image.store(revived)
                list.holdings?.remove(held.range, isHeld: false)
                list.holdings?.add(held.range, isHeld: true)
                stored(page, quietly: quietly)
                return nil
            }
        }
        if !there.isEmpty {
            // Pages of older generations are deleted only at the positions of the new page. The rest stays readable
            // (R19).
            try await cut(at: place.lowerBound)
            try await cut(at: place.upperBound)
            for row in try await image.rows(meeting: place) { delete(row) }
        }
        if !list.record.allowsDuplicates, let repeated = try await makeRoom(for: identities, of: page) {
            return repeated
        }
        insert(summary(of: page, fingerprint), page.content, identities)
        image.markKnown(place)
        stored(page, quietly: quietly)
        // The next page was never seen next to this page, so its seam is inferred (G1).
        try await markInferred(page.range.upperBound)
        return nil
    }

    /// Returns whether the held page has the same items, compared by their bytes or as JSON.
    private func holds(
        _ row: PageRow, _ content: PageContent, _ fingerprint: UInt64
    ) async throws(StorageError) -> Bool {
        if row.summary.fingerprint == fingerprint { return true }
        guard row.summary.count == content.count else { return false }
        return try await image.content(of: row)?.isSame(as: content) ?? false
    }

    private func stored(_ page: PageWrite, quietly: Bool) {
        if !quietly {
            changes.append(.stored(page.range))
            journal.loaded(page.range)
        }
        dropFailures(in: page.range)
    }

    /// Deletes failures at positions that have been fetched since.
    private func dropFailures(in range: Range<Int>) {
        guard hasFailures, !range.isEmpty else { return }
        work.add(
            [.int(range.lowerBound), .int(range.upperBound)], to: LedgerRow.droppingFailures,
            [.integer(query.rawValue)])
    }

    /// Updates the age, the validator and the cursors of a held page that has the same items as the fetched one. The
    /// seam before the page becomes verified if the fetched page verifies it.
    private func updateMetadata(_ row: PageRow, with page: PageWrite) {
        var row = row
        row.summary.validatedAt = now
        row.summary.validator = page.validator ?? row.summary.validator
        row.summary.cursorIn = page.cursorIn ?? row.summary.cursorIn
        row.summary.cursorOut = page.cursorOut ?? row.summary.cursorOut
        if page.evidence == .verified, row.summary.evidence == .inferred {
            row.summary.evidence = .verified
            row.summary.evidenceAt = now
        }
        image.store(row)
        changes.append(.confirmed(row.summary.range))
        dropFailures(in: row.summary.range)
    }

    private func summary(of page: PageWrite, _ fingerprint: UInt64) -> PageSummary {
        PageSummary(
            offset: page.offset, count: page.content.count, generation: generation,
            revision: list.record.version.revision, evidence: page.offset == 0 ? .verified : page.evidence,
            evidenceAt: now, fetchedAt: now, validatedAt: now, fingerprint: fingerprint,
            cursorIn: page.cursorIn, cursorOut: page.cursorOut, validator: page.validator)
    }

    /// Returns a refusal that names the first page that repeats an id (R5). Returns nil when no id is held twice.
    func firstRepeat() async throws(StorageError) -> CommitOutcome? {
        var keys: Set<UInt64> = []
        for row in try await image.rows(meeting: 0..<Int.max) where isHeld(row) {
            let identities = try await image.content(of: row)?.identities ?? []
            if !identities.allSatisfy({ keys.insert($0.key).inserted }) { return .duplicates([row.summary.range]) }
        }
        return nil
    }

    /// Ensures that no id is held twice (R5). Pages of older generations that hold one of the items are deleted (R19).
    /// A page of the current generation that holds one of the items causes a refusal.
    private func makeRoom(
        for identities: [ItemIdentity], of page: PageWrite
    ) async throws(StorageError) -> CommitOutcome? {
        guard Set(identities.map(\.key)).count == identities.count else { return .duplicates([page.range]) }
        var conflicts: [Range<Int>] = []
        for row in image.pages(holding: identities) where try await sharesItems(row, with: page.content) {
            if row.summary.generation < generation {
                delete(row)
            } else {
                conflicts.append(row.summary.range)
            }
        }
        return conflicts.isEmpty ? nil : .duplicates(conflicts)
    }

    /// Returns whether a page holds one of these items, and not only an item with an equal hash.
    private func sharesItems(_ row: PageRow, with content: PageContent) async throws(StorageError) -> Bool {
        // Damaged bytes cannot be compared, so the page counts as a match.
        guard let stored = try await image.content(of: row) else { return true }
        return content.sharesItems(with: stored)
    }

    /// Records that the validator of page one no longer covers the total of the list.
    func clearTotalCoverage() async throws(StorageError) {
        guard var row = try await image.row(at: 0), row.summary.validator?.coversTotal == true else { return }
        row.summary.validator?.coversTotal = false
        image.store(row)
    }

    func confirm(_ offset: Int, _ validator: Validator?) async throws(StorageError) {
        guard var row = try await image.row(at: offset) else { return }
        changes.append(.confirmed(row.summary.range))
        row.summary.validatedAt = now
        if let validator { row.summary.validator = validator }
        image.store(row)
    }
}
#endif
