import PageModel

/// Edits that move positions: everything that is not a plain put is a splice, made of cuts, a shift and a join.
extension CommitTransaction {
    mutating func splice(_ range: Range<Int>, _ page: PageWrite?) throws(StorageError) -> CommitOutcome? {
        guard range.lowerBound >= 0, page.map({ $0.offset == range.lowerBound }) ?? true else {
            throw StorageError(.invalidPlan, "a splice puts its page where it takes positions out")
        }
        let distance = (page?.content.count ?? 0) - range.count
        moved = moved || distance != 0
        try cut(at: range.lowerBound)
        try cut(at: range.upperBound)
        for row in try PageTable.rows(meeting: range, of: query, in: connection) where !range.isEmpty {
            try PageTable.delete(row, query: query, in: connection)
        }
        try LedgerTable.drop(range, query: query, in: connection)
        try shift(from: range.upperBound, by: distance)
        session.identities.forget(query)
        if let page, let refusal = try put(page) { return refusal }
        let seam = range.lowerBound + (page?.content.count ?? 0)
        // G1: what comes together here was not seen together.
        try connection.run(
            "UPDATE page SET evidence = 'inferred', evidence_at = ? WHERE query = ? AND offset = ? AND offset > 0",
            .time(plan.at), .int(query.rawValue), .int(seam))
        try joinSmallPage(at: seam)
        return nil
    }

    private func shift(from position: Int, by distance: Int) throws(StorageError) {
        guard distance != 0 else { return }
        // R1: a validator is void once the page has moved; its request would now answer with other items.
        try connection.run(
            """
            UPDATE page SET revision = ?, request = NULL, entity_tag = NULL, last_modified = NULL, covers_total = 0
            WHERE query = ? AND offset >= ?
            """, .int(record.version.revision + 1), .int(query.rawValue), .int(position))
        try Shift.rows(of: "page", from: position, by: distance, query: query, in: connection)
        try LedgerTable.shift(from: position, by: distance, query: query, in: connection)
    }

    /// Makes `position` the start of a page, if it lies inside one.
    mutating func cut(at position: Int) throws(StorageError) {
        for row in try PageTable.rows(meeting: position..<position + 1, of: query, in: connection)
        where row.summary.offset < position {
            let page = row.summary
            let index = position - page.offset
            let stored = try PageTable.content(of: row, query: query, in: connection)
            try delete(row)
            session.identities.forget(query)
            // Damaged bytes are not carried on: the positions become a gap, and are fetched again.
            guard let content = stored else { continue }

            var head = page
            head.count = index
            head.cursorOut = nil
            head.validator = nil
            head.innerInferredSeams = page.innerInferredSeams.filter { $0 < index }
            var tail = page
            tail.offset = position
            tail.count = page.count - index
            tail.cursorIn = nil
            tail.validator = nil
            tail.evidence = page.innerInferredSeams.contains(index) ? .inferred : .verified
            tail.evidenceAt = page.fetchedAt
            tail.innerInferredSeams = page.innerInferredSeams.filter { $0 > index }.map { $0 - index }
            try rewrite(head, content.slice(0..<index))
            try rewrite(tail, content.slice(index..<page.count))
        }
    }

    /// R17: what is left of a page after a splice is joined with the page behind it, when one of the two is small.
    private mutating func joinSmallPage(at position: Int) throws(StorageError) {
        guard let left = try PageTable.row(at: position, of: query, in: connection),
            let right = try PageTable.row(at: left.summary.range.upperBound, of: query, in: connection),
            left.summary.count > 0, right.summary.count > 0,
            left.summary.generation == right.summary.generation,
            PageMerging.shouldJoin(left.summary.count, right.summary.count),
            var content = try PageTable.content(of: left, query: query, in: connection),
            let rest = try PageTable.content(of: right, query: query, in: connection)
        else { return }
        var joined = left.summary
        if right.summary.evidence == .inferred { joined.innerInferredSeams.append(left.summary.count) }
        joined.innerInferredSeams += right.summary.innerInferredSeams.map { $0 + left.summary.count }
        joined.count += right.summary.count
        joined.fetchedAt = min(left.summary.fetchedAt, right.summary.fetchedAt)
        joined.validatedAt = min(left.summary.validatedAt, right.summary.validatedAt)
        joined.cursorOut = right.summary.cursorOut
        joined.validator = nil
        content.append(contentsOf: rest)
        try delete(left)
        try delete(right)
        try connection.run(
            "DELETE FROM ledger WHERE query = ? AND offset = ? AND state = 'ok'", .int(query.rawValue),
            .int(right.summary.offset))
        try rewrite(joined, content)
    }
}
