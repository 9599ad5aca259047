import Logging
import PageModel

extension SyncRun {
    // MARK: Pages asked for by position

    /// The items from `range.lowerBound` on were answered.
    func spanArrived(_ answer: PageAnswer, _ range: Range<Int>) async throws(StorageError) {
        guard let query else { return }
        guard case .page(let page) = answer, !page.content.isEmpty else {
            return try await nothingThere(answer, range, query)
        }
        let arrived = range.lowerBound..<range.lowerBound + page.content.count
        guard let list = try await storage.excerpt(of: query, arrived) else { return }
        if let now = page.total.exactCount, let then = list.record.total.exactCount, now != then {
            return try await listMoved(page, at: range.lowerBound, list)
        }
        let missing = list.coverage.gaps(in: arrived)
        guard try await agrees(page, arrived, missing, list) else {
            return try await listMoved(page, at: range.lowerBound, list)
        }
        var edits: [ListEdit] = missing.map { gap in
            let part = gap.lowerBound - arrived.lowerBound..<gap.upperBound - arrived.lowerBound
            // An item that was received again, where it was expected, proves the seam (R21).
            return .put(
                PageWrite(
                    offset: gap.lowerBound, content: page.content.slice(part),
                    evidence: part.lowerBound > 0 ? .verified : .inferred,
                    validator: part == 0..<page.content.count ? page.validator : nil))
        }
        let ending = EndOfList.decide(page, at: arrived.lowerBound, full: pageSize, access: source.access)
        if case .end(let position) = ending, list.record.total.exactCount == nil || position == list.record.total.exactCount {
            edits.append(.setEnd(position))
        }
        if let total = list.record.total.count, arrived.upperBound > total {
            // R20: more items than the origin counts.
            edits.append(.setTotal(.estimate(arrived.upperBound)))
        }
        pagesFetched += 1
        if missing.isEmpty { fruitless.insert(range.lowerBound) }
        let keys = Set(page.content.identities.map(\.key))
        try await store(edits, keys: keys, at: range.lowerBound, query, list.record.version)
        announce(arrived, news: missing.reduce(0) { $0 + $1.count })
    }

    /// Whether what was received twice is what is held: otherwise the list moved between the two answers.
    private func agrees(
        _ page: FetchedPage, _ arrived: Range<Int>, _ missing: [Range<Int>], _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        guard missing != [arrived] else { return true }
        let identities = page.content.identities
        guard let window = try await storage.window(of: list.record.id, arrived) else { return false }
        return window.parts.allSatisfy { part in
            !part.isHeld
                || part.content.identities.map(\.key)
                    == identities[part.offset - arrived.lowerBound..<part.range.upperBound - arrived.lowerBound].map(\.key)
        }
    }

    /// Stores what arrived. Items that another page holds mean that the list moved between the two answers: the older
    /// page gives way, and its positions are asked for again.
    private func store(
        _ edits: [ListEdit], keys: Set<UInt64>, at offset: Int, _ query: QueryID, _ version: ListVersion
    ) async throws(StorageError) {
        var plan = CommitPlan(
            query: query, version: version, at: clock.now(), edits: edits, ledger: [.succeeded(offset: offset)])
        var outcome = try await apply(plan)
        if case .duplicates(let held) = outcome {
            let known = try await storage.locate(keys, in: query).count
            if known == keys.count {
                pagesWithoutNews += 1
                guard pagesWithoutNews < options.loopGuard else { return try await originIgnoresOffsets(at: offset) }
            }
            conflicts += 1
            if conflicts > options.restarts * 4 || held.contains(where: { $0.lowerBound == offset }) {
                warn("the origin repeats item ids; repeated items are kept")
                plan.edits.insert(.allowDuplicates, at: 0)
            } else {
                plan.edits.insert(contentsOf: held.map { .demote($0) }, at: 0)
            }
            outcome = try await apply(plan)
        } else {
            pagesWithoutNews = 0
        }
        switch outcome {
        case .committed: break
        // Another process moved the list. What we brought is not lost: it is a gap still, and asked for again.
        case .superseded, .duplicates: mustRestart = true
        }
    }

    /// R24: whatever is asked for, the same items come. Nothing that is held gives way to that.
    private func originIgnoresOffsets(at offset: Int) async throws(StorageError) {
        guard let query, let list = try await storage.excerpt(of: query, offset..<offset) else { return }
        queue.clear()
        try await originLoops("the origin answers different positions with the same items", offset, list)
        // Nothing behind it is any better.
        emptyFrom = min(offset, emptyFrom ?? .max)
    }

    /// The total, or an item received twice, says that the list is not the one we began to read: what was read before
    /// no longer counts as held. It stays readable until it has been read again.
    private func listMoved(_ page: FetchedPage, at offset: Int, _ list: ListOutline) async throws(StorageError) {
        mustRestart = true
        queue.clear()
        let edits: [ListEdit] = [
            .demote(0..<Int.max),
            .put(PageWrite(offset: offset, content: page.content, evidence: .inferred)),
            .setTotal(page.total), .setEnd(nil),
        ]
        let plan = CommitPlan(
            query: list.record.id, version: list.record.version, at: clock.now(), edits: edits,
            ledger: [.succeeded(offset: offset)])
        // Refused: then somebody else has moved on, or the answer repeats itself; page one decides.
        _ = try await apply(plan)
        pagesFetched += 1
        logger.debug("the list moved while it was read")
    }

    /// R24: an empty answer, or a refusal beyond the end, is the end where nothing else is known.
    private func nothingThere(
        _ answer: PageAnswer, _ range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) {
        guard let list = try await storage.outline(of: query) else { return }
        if let total = list.record.total.exactCount, range.lowerBound < total {
            // R20: one bad answer proves nothing.
            guard doubtfulOffsets.contains(range.lowerBound) else {
                doubtfulOffsets.insert(range.lowerBound)
                return queue.addFirst(.span(range))
            }
            emptyFrom = min(range.lowerBound, emptyFrom ?? .max)
            queue.clear(from: range.lowerBound)
        }
        fruitless.insert(range.lowerBound)
        var edits: [ListEdit] = []
        if list.record.total.exactCount == nil, list.coverage.headEnd == range.lowerBound {
            edits = [.setEnd(range.lowerBound)]
        } else if case .page(let page) = answer, let now = page.total.exactCount, let then = list.record.total.exactCount,
            now != then
        {
            return try await listMoved(page, at: range.lowerBound, list)
        }
        _ = try await apply(
            CommitPlan(
                query: list.record.id, version: list.record.version, at: clock.now(), edits: edits,
                ledger: [.forgotten(offset: range.lowerBound)]))
    }

    // MARK: Pages that follow one another

    /// What the page before `offset` handed over was answered.
    func followerArrived(_ answer: PageAnswer, _ cursor: PageCursor, at offset: Int) async throws(StorageError) {
        guard let query, let list = try await storage.excerpt(of: query, offset..<offset) else { return }
        guard case .page(let page) = answer else {
            return try await commit([.setEnd(offset)], [.forgotten(offset: offset)], list)
        }
        if page.next == cursor { return try await originLoops("the origin's next page is the same page again", offset, list) }

        if list.record.allowsDuplicates, !page.content.isEmpty {
            // The store takes repeated items here; a walk that brings nothing else is a loop all the same.
            let keys = Set(page.content.identities.map(\.key))
            if try await storage.locate(keys, in: query).count == keys.count {
                return try await nothingNew(page, at: offset, list)
            }
        }
        var position = offset
        var plan = followingPlan(page, cursor, at: position, list)
        var outcome = try await apply(plan)
        if case .duplicates(let held) = outcome, held.contains(where: { $0.lowerBound != position }) {
            // An item that comes again further on has moved there while we walked: its old place is closed up (R22).
            let places = try await storage.locate(Set(page.content.identities.map(\.key)), in: query).mapValues(\.position)
            guard places.count < page.content.count else { return try await nothingNew(page, at: offset, list) }
            position -= places.values.count { $0 < offset }
            plan = followingPlan(page, cursor, at: position, list)
            plan.edits.insert(contentsOf: places.values.sorted(by: >).map { .splice($0..<$0 + 1, nil) }, at: 0)
            outcome = try await apply(plan)
        }
        if case .duplicates = outcome {
            // What the list held has been moved out of the way: the page repeats ids within itself (R25).
            warn("the origin repeats item ids within a page; repeated items are kept")
            plan.edits.insert(.allowDuplicates, at: 0)
            outcome = try await apply(plan)
        }
        guard case .committed = outcome else {
            mustRestart = true
            return
        }
        guard !page.content.isEmpty else { return try await nothingNew(page, at: offset, list) }
        pagesFetched += 1
        pagesWithoutNews = 0
        let after = position + page.content.count
        announce(position..<after, news: after - offset)
        guard let next = page.next else { return }
        guard pagesFetched < options.pagesPerQuery else {
            return warn("the list has more than \(options.pagesPerQuery) pages; the rest is left out")
        }
        queue.add([.follow(next, offset: after)])
    }

    private func followingPlan(
        _ page: FetchedPage, _ cursor: PageCursor, at offset: Int, _ list: ListOutline
    ) -> CommitPlan {
        var edits: [ListEdit] = []
        if !page.content.isEmpty {
            edits.append(
                .put(
                    PageWrite(
                        offset: offset, content: page.content, evidence: .inferred, cursorIn: cursor,
                        cursorOut: page.next, validator: page.validator)))
        }
        if page.next == nil { edits.append(.setEnd(offset + page.content.count)) }
        if page.total != .unknown, page.total.count != list.record.total.count { edits.append(.setTotal(page.total)) }
        return CommitPlan(
            query: list.record.id, version: list.record.version, at: clock.now(), edits: edits,
            ledger: [.succeeded(offset: offset)])
    }

    /// R24: empty pages with a live next are legal, and so is a page of known items; for ever, they are a loop.
    private func nothingNew(_ page: FetchedPage, at offset: Int, _ list: ListOutline) async throws(StorageError) {
        pagesWithoutNews += 1
        guard let next = page.next else {
            return try await commit([.setEnd(offset)], [.forgotten(offset: offset)], list)
        }
        guard pagesWithoutNews < options.loopGuard else {
            return try await originLoops("\(pagesWithoutNews) pages in a row brought nothing new", offset, list)
        }
        queue.add([.follow(next, offset: offset)])
    }

    private func originLoops(_ message: String, _ offset: Int, _ list: ListOutline) async throws(StorageError) {
        let failure = FetchFailure(.loop, message, isRetryable: false)
        givenUp.insert(offset)
        progress(.failed(offset: offset, failure, nextAttemptAt: nil))
        try await commit([], [.failed(offset: offset, failure: failure, nextAttemptAt: nil)], list)
    }

    /// R22: a cursor that the origin no longer takes. The list is read again from page one; what is held stays
    /// readable meanwhile.
    func cursorWasRejected(_ failure: FetchFailure) async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query), restarts < options.restarts else { return }
        warn("the origin no longer takes a stored cursor (\(failure.message)); reading again from page one")
        givenUp.removeAll()
        mustRestart = true
        _ = try await apply(
            CommitPlan(
                query: query, version: list.record.version, at: clock.now(), edits: [.beginGeneration, .setEnd(nil)]))
    }

    private func commit(
        _ edits: [ListEdit], _ ledger: [LedgerEdit], _ list: ListOutline
    ) async throws(StorageError) {
        let plan = CommitPlan(
            query: list.record.id, version: list.record.version, at: clock.now(), edits: edits, ledger: ledger)
        guard case .committed = try await apply(plan) else {
            mustRestart = true
            return
        }
    }
}
