import PageModel

/// Edits that write a page, or say of one that it is as it was.
extension CommitTransaction {
    /// Stores a page where nothing is held.
    /// - Parameter quietly: whether what it is part of tells the observers.
    mutating func write(_ page: PageWrite, quietly: Bool = false) throws(StorageError) -> CommitOutcome? {
        guard page.offset >= 0, page.offset <= Total.largest - page.content.count else {
            throw StorageError(.invalidPlan, "a page cannot lie at offset \(page.offset)")
        }
        let identities = page.content.identities
        let fingerprint = PageContent.fingerprint(of: identities)
        // A page without items lies somewhere, too.
        let place = page.offset..<page.offset + max(page.content.count, 1)
        // One look for what lies where the page will, and for what lies behind it.
        var there = try rows(meeting: place.lowerBound..<place.upperBound + 1, sparing: place.upperBound)
        let isBehind = there.last.map { $0.summary.offset == place.upperBound } ?? false
        if isBehind { there.removeLast() }
        for row in there {
            let held = row.summary
            if held.generation == record.version.generation, held.count > 0 {
                // Somebody else stored this very page meanwhile: then there is nothing to do but to agree (R6).
                if held.offset == page.offset, try holds(row, page.content, fingerprint) {
                    try agree(row, with: page)
                    return nil
                }
                return .duplicates([held.range])
            }
            if held.offset == page.offset, held.count == page.content.count, held.count > 0,
                try BodyTable.content(of: row, in: connection)?.isSame(as: page.content) ?? false
            {
                // R6: fetched again, and what it was: it counts as held again, and no item is written anew.
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
            // What is left from before gives way where the page lies, and nowhere else: the rest stays readable (R19).
            try cut(at: place.lowerBound)
            try cut(at: place.upperBound)
            for row in try rows(meeting: place) { try delete(row) }
        }
        if !record.allowsDuplicates, let repeated = try makeRoom(for: identities, of: page) { return repeated }
        try insert(summary(of: page, fingerprint), page.content, identities)
        try stored(page, quietly: quietly)
        // G1: what lies behind was seen next to something, but not to this.
        if isBehind || !there.isEmpty || page.content.isEmpty { try doubt(page.range.upperBound) }
        return nil
    }

    /// Whether a page that counts as held is this one, in its bytes or as JSON.
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
        // What failed here before is history.
        try LedgerTable.dropFailures(in: page.range, query: query, in: connection)
    }

    /// The page is held already, item for item: it is as fresh as if it had been written.
    private mutating func agree(_ row: PageRow, with page: PageWrite) throws(StorageError) {
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

    /// R5: the refusal that names the first page with an id that an earlier page holds; nil where no id is held twice.
    mutating func firstRepeat() throws(StorageError) -> CommitOutcome? {
        var keys: Set<UInt64> = []
        for row in try rows(meeting: 0..<Int.max) where row.summary.generation == record.version.generation {
            let identities = try BodyTable.content(of: row, in: connection)?.identities ?? []
            if !identities.allSatisfy({ keys.insert($0.key).inserted }) { return .duplicates([row.summary.range]) }
        }
        return nil
    }

    /// R5: no id twice. Pages of older generations that hold one of these items give way (R19); a page that counts as
    /// held does not, and then the plan is refused.
    private mutating func makeRoom(
        for identities: [ItemIdentity], of page: PageWrite
    ) throws(StorageError) -> CommitOutcome? {
        guard !KeyTable.repeatsKey(identities) else { return .duplicates([page.range]) }
        var conflicts: [Range<Int>] = []
        for (body, offset) in try session.identities.bodies(
            holding: identities, in: query, at: record.contentVersion, connection)
        {
            // A row that is not whole, or not where it is said to be, holds nothing.
            // The index may be out of date, and hashes may be equal by chance: the items decide.
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

    /// Whether a page really holds one of these items, and not just an equal hash.
    private func sharesItems(_ row: PageRow, with content: PageContent) throws(StorageError) -> Bool {
        // Damaged bytes cannot tell; then the hash is believed, and the page is fetched again.
        guard let stored = try BodyTable.content(of: row, in: connection) else { return true }
        let ids = Set((0..<content.count).compactMap { content.ids.bytes(at: $0) })
        let keys = content.identities.map(\.key)
        let anonymous = Dictionary(grouping: (0..<content.count).filter { content.ids.type(at: $0) == nil }) {
            keys[$0]
        }
        for (index, identity) in stored.identities.enumerated() {
            if let id = stored.ids.bytes(at: index) {
                if ids.contains(id) { return true }
            } else if anonymous[identity.key]?.contains(where: { content.isSame($0, as: index, of: stored) }) ?? false {
                return true
            }
        }
        return false
    }

    /// The total that the validator of page one covers is not the list's any more.
    func uncoverTotal() throws(StorageError) {
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
