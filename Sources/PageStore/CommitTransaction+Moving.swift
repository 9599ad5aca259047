import PageModel

/// Edits that move positions: everything that is not a plain put is a splice, made of cuts, a shift and a join.
extension CommitTransaction {
    mutating func splice(_ range: Range<Int>, _ page: PageWrite?) throws(StorageError) -> CommitOutcome? {
        guard range.lowerBound >= 0, range.upperBound <= Total.largest,
            page.map({ $0.offset == range.lowerBound }) ?? true
        else {
            throw StorageError(.invalidPlan, "a splice puts its page where it takes positions out")
        }
        let count = page?.content.count ?? 0
        guard count > 0 || !range.isEmpty else { return nil }
        let distance = count - range.count
        guard try PageTable.lastOffset(of: query, in: connection) <= Total.largest / 2 - max(0, distance) else {
            throw StorageError(.invalidPlan, "a splice would move pages beyond every position there is")
        }
        moved = moved || distance != 0
        try cut(at: range.lowerBound)
        try cut(at: range.upperBound)
        for row in try rows(meeting: range) where !range.isEmpty { try delete(row) }
        try LedgerTable.drop(range, query: query, in: connection)
        if distance != 0 {
            try PageTable.shift(
                from: range.upperBound, by: distance, revision: record.version.revision + 1, of: query, in: connection)
            try LedgerTable.shift(from: range.upperBound, by: distance, query: query, in: connection)
        }
        session.identities.forget(query)
        if let page, let refusal = try write(page, quietly: true) { return refusal }
        changes.append(.spliced(range, count: count))
        try doubt(range.lowerBound + count)
        try joinSmallPage(at: range.lowerBound + count)
        return nil
    }

    mutating func demote(_ range: Range<Int>) throws(StorageError) {
        // Positions stay, but plans that counted on these pages must be made again.
        moved = true
        for var row in try rows(meeting: range) where row.summary.generation == record.version.generation {
            row.summary.generation -= 1
            try PageTable.store(row, of: query, in: connection)
        }
        changes.append(.demoted(range))
    }

    mutating func truncate(at position: Int) throws(StorageError) {
        try check(position)
        moved = true
        try cut(at: position)
        for row in try rows(meeting: position..<Int.max) { try delete(row) }
        try LedgerTable.drop(position..<Int.max, query: query, in: connection)
        changes.append(.truncated(position))
    }

    /// G1: what comes together at `seam` was not seen together. Where the list begins there is nothing to come together.
    func doubt(_ seam: Int) throws(StorageError) {
        guard var row = try PageTable.row(at: seam, of: query, in: connection) else { return }
        let evidence: Evidence = seam == 0 ? .verified : .inferred
        guard row.summary.evidence != evidence else { return }
        row.summary.evidence = evidence
        row.summary.evidenceAt = plan.at
        try PageTable.store(row, of: query, in: connection)
    }

    /// Makes `position` the start of a page, if it lies inside one.
    mutating func cut(at position: Int) throws(StorageError) {
        guard position < Int.max else { return }
        for row in try rows(meeting: position..<position + 1) where row.summary.offset < position {
            let page = row.summary
            let index = position - page.offset
            let stored = try BodyTable.content(of: row, in: connection)
            let usedAt = try AccessTable.usedAt(row.body, in: connection)
            try delete(row)
            session.identities.forget(query)
            // Damaged bytes are not carried on: the positions become a gap, and are fetched again.
            guard let content = stored else {
                changes.append(.dropped(page.range))
                continue
            }

            var head = page
            head.count = index
            head.cursorOut = nil
            head.validator = nil
            head.innerInferredSeams = page.innerInferredSeams.filter { $0.index < index }
            let here = page.innerInferredSeams.first { $0.index == index }
            var tail = page
            tail.offset = position
            tail.count = page.count - index
            tail.cursorIn = nil
            tail.validator = nil
            tail.evidence = here == nil ? .verified : .inferred
            tail.evidenceAt = here?.since ?? page.fetchedAt
            tail.innerInferredSeams = page.innerInferredSeams.filter { $0.index > index }.map {
                InnerSeam(index: $0.index - index, since: $0.since)
            }
            try rewrite(head, content.slice(0..<index), usedAt: usedAt)
            try rewrite(tail, content.slice(index..<page.count), usedAt: usedAt)
        }
    }

    /// R17: what is left of a page after a splice is joined with the page behind it, when one of the two is small.
    private mutating func joinSmallPage(at position: Int) throws(StorageError) {
        guard let left = try PageTable.row(at: position, of: query, in: connection),
            let right = try PageTable.row(at: left.summary.range.upperBound, of: query, in: connection),
            left.summary.count > 0, right.summary.count > 0,
            left.summary.generation == right.summary.generation,
            PageMerging.shouldJoin(left.summary.count, right.summary.count),
            var content = try BodyTable.content(of: left, in: connection),
            let rest = try BodyTable.content(of: right, in: connection)
        else { return }
        var joined = left.summary
        if right.summary.evidence == .inferred {
            joined.innerInferredSeams.append(InnerSeam(index: left.summary.count, since: right.summary.evidenceAt))
        }
        joined.innerInferredSeams += right.summary.innerInferredSeams.map {
            InnerSeam(index: $0.index + left.summary.count, since: $0.since)
        }
        joined.count += right.summary.count
        joined.fetchedAt = min(left.summary.fetchedAt, right.summary.fetchedAt)
        joined.validatedAt = min(left.summary.validatedAt, right.summary.validatedAt)
        joined.cursorOut = right.summary.cursorOut
        joined.validator = nil
        content.append(contentsOf: rest)
        let uses = [try AccessTable.usedAt(left.body, in: connection), try AccessTable.usedAt(right.body, in: connection)]
        try delete(left)
        try delete(right)
        try LedgerTable.forgetSuccess(at: right.summary.offset, query: query, in: connection)
        try rewrite(joined, content, usedAt: uses.compactMap { $0 }.max())
    }
}
