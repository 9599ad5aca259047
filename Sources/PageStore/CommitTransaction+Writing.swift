import PageModel

/// Edits that write a page or confirm that a page is unchanged.
extension CommitTransaction {
    /// Stores a page where the list holds no page of the current generation.
    /// - Parameter quietly: whether the caller records the change, so that this call neither announces it nor adds it
    ///   to the journal.
    /// - Returns: `nil` when the page is stored, or was held with the same items already; otherwise the refusal.
    /// - Throws: `invalidPlan` for an offset out of range.
    mutating func write(_ page: PageWrite, quietly: Bool = false) throws(StorageError) -> CommitOutcome? {
        guard page.offset >= 0, page.offset <= ListTotal.largest - page.content.count else {
            throw StorageError(.invalidPlan, "the offset \(page.offset) of a page is out of range")
        }
        let identities = page.content.identities
        let fingerprint = PageContent.fingerprint(of: identities)
        // A page without items still occupies its own offset.
        let place = page.offset..<page.offset + max(page.content.count, 1)
        // One query finds the rows at the positions of the page and the row directly after them.
        var there = try rows(meeting: place.lowerBound..<place.upperBound + 1, sparing: place.upperBound)
        let isBehind = there.last.map { $0.summary.offset == place.upperBound } ?? false
        if isBehind { there.removeLast() }
        for row in there {
            let held = row.summary
            if held.generation == record.version.generation, held.count > 0 {
                // Another commit has stored this page already, so its items stay (R6).
                if held.offset == page.offset, try holds(row, page.content, fingerprint) {
                    try updateMetadata(row, with: page)
                    return nil
                }
                return .duplicates([held.range])
            }
            if held.offset == page.offset, held.count == page.content.count, held.count > 0,
                try BodyTable.content(of: row, in: connection)?.isSame(as: page.content) ?? false
            {
                // The refetched page is unchanged. It counts as held again and no item is rewritten (R6).
                var revived = row
                revived.summary = summary(of: page, held.fingerprint)
                try PageTable.store(revived, of: query, in: connection)
                holdings?.remove(held.range, isHeld: false)
                holdings?.add(held.range, isHeld: true)
                try stored(page, quietly: quietly)
                return nil
            }
        }
        if !there.isEmpty {
            // Pages of older generations are deleted only at the positions of the new page. The rest stays readable
            // (R19).
            try cut(at: place.lowerBound)
            try cut(at: place.upperBound)
            for row in try rows(meeting: place) { try delete(row) }
        }
        if !record.allowsDuplicates, let repeated = try makeRoom(for: identities, of: page) { return repeated }
        try insert(summary(of: page, fingerprint), page.content, identities)
        try stored(page, quietly: quietly)
        // The next page was never seen next to this page, so its seam is inferred (G1).
        if isBehind || !there.isEmpty || page.content.isEmpty { try markInferred(page.range.upperBound) }
        return nil
    }

    /// Returns whether the held page has the same items, compared by their bytes or as JSON.
    private func holds(_ row: PageRow, _ content: PageContent, _ fingerprint: UInt64) throws(StorageError) -> Bool {
        if row.summary.fingerprint == fingerprint { return true }
        guard row.summary.count == content.count else { return false }
        return try BodyTable.content(of: row, in: connection)?.isSame(as: content) ?? false
    }

    private mutating func stored(_ page: PageWrite, quietly: Bool) throws(StorageError) {
        if !quietly {
            changes.append(.stored(page.range))
            journal.loaded(page.range)
        }
        // Earlier failures at these positions are obsolete.
        try LedgerTable.dropFailures(in: page.range, query: query, in: connection)
    }

    /// Updates the age, the validator and the cursors of a held page that has the same items as the fetched one. The
    /// seam before the page becomes verified if the fetched page verifies it.
    private mutating func updateMetadata(_ row: PageRow, with page: PageWrite) throws(StorageError) {
        var row = row
        row.summary.validatedAt = now
        row.summary.validator = page.validator ?? row.summary.validator
        row.summary.cursorIn = page.cursorIn ?? row.summary.cursorIn
        row.summary.cursorOut = page.cursorOut ?? row.summary.cursorOut
        if page.evidence == .verified, row.summary.evidence == .inferred {
            row.summary.evidence = .verified
            row.summary.evidenceAt = now
        }
        try PageTable.store(row, of: query, in: connection)
        changes.append(.confirmed(row.summary.range))
        try LedgerTable.dropFailures(in: row.summary.range, query: query, in: connection)
    }

    private func summary(of page: PageWrite, _ fingerprint: UInt64) -> PageSummary {
        PageSummary(
            offset: page.offset, count: page.content.count, generation: record.version.generation,
            revision: record.version.revision, evidence: page.offset == 0 ? .verified : page.evidence,
            evidenceAt: now, fetchedAt: now, validatedAt: now, fingerprint: fingerprint,
            cursorIn: page.cursorIn, cursorOut: page.cursorOut, validator: page.validator)
    }

    /// Returns a refusal that names the first page that repeats an id (R5). Returns nil where no id is held twice.
    mutating func firstRepeat() throws(StorageError) -> CommitOutcome? {
        var keys: Set<UInt64> = []
        for row in try rows(meeting: 0..<Int.max) where row.summary.generation == record.version.generation {
            let identities = try BodyTable.content(of: row, in: connection)?.identities ?? []
            if !identities.allSatisfy({ keys.insert($0.key).inserted }) { return .duplicates([row.summary.range]) }
        }
        return nil
    }

    /// Ensures that no id is held twice (R5). Pages of older generations that hold one of the items are deleted (R19).
    /// A page of the current generation that holds one causes a refusal.
    private mutating func makeRoom(
        for identities: [ItemIdentity], of page: PageWrite
    ) throws(StorageError) -> CommitOutcome? {
        guard !KeyTable.repeatsKey(identities) else { return .duplicates([page.range]) }
        var conflicts: [Range<Int>] = []
        for (body, offset) in try session.identities.bodies(
            holding: identities, in: query, at: record.contentVersion, connection)
        {
            // A row that is damaged, or not at its indexed offset, holds no item. The index may be out of date and two
            // hashes may be equal by chance, so the items are compared.
            guard let row = try PageTable.row(at: offset, of: query, in: connection), row.body == body,
                try sharesItems(row, with: page.content)
            else { continue }
            if row.summary.generation < record.version.generation {
                try delete(row)
            } else {
                conflicts.append(row.summary.range)
            }
        }
        return conflicts.isEmpty ? nil : .duplicates(conflicts.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Returns whether a page holds one of these items, and not only an item with an equal hash.
    private func sharesItems(_ row: PageRow, with content: PageContent) throws(StorageError) -> Bool {
        // Damaged bytes cannot be compared, so the page counts as a match.
        guard let stored = try BodyTable.content(of: row, in: connection) else { return true }
        return content.sharesItems(with: stored)
    }

    /// Records that the validator of page one no longer covers the total of the list.
    func clearTotalCoverage() throws(StorageError) {
        guard var row = try PageTable.row(at: 0, of: query, in: connection), row.summary.validator?.coversTotal == true
        else { return }
        row.summary.validator?.coversTotal = false
        try PageTable.store(row, of: query, in: connection)
    }

    mutating func confirm(_ offset: Int, _ validator: Validator?) throws(StorageError) {
        guard var row = try PageTable.row(at: offset, of: query, in: connection) else { return }
        changes.append(.confirmed(row.summary.range))
        guard let validator, validator != row.summary.validator else {
            return try PageTable.touch(row, at: now, of: query, in: connection)
        }
        row.summary.validatedAt = now
        row.summary.validator = validator
        try PageTable.store(row, of: query, in: connection)
    }
}
