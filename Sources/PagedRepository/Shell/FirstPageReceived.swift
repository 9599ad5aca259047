import PageModel

extension SyncRun {
    /// Handles the answer for page one, and derives what it says about the whole list.
    func headArrived(_ answer: PageAnswer) async throws(StorageError) {
        failures.head = nil
        // Page one may have been requested to confirm a walk that has just come to the end of the list.
        let confirmsWalk = belief.order.awaitsConfirmation
        defer {
            if confirmsWalk { pass.check.isDue = false }
            belief.order.endConfirmation()
        }
        switch answer {
        case .pastEnd, .notFound:
            failures.head = .noPageOne
        case .notModified(let total, let validator):
            try await headConfirmed(total, validator)
        case .page(let answer):
            let page = withPositionCursor(answer)
            belief.drift.asksUnconditionally = false
            belief.sizes.observe(
                pageOne: page.content.isEmpty ? nil : page.content.count, requested: options.pageSize,
                isWhole: end(of: page) != nil, isSure: true)
            // Later answers are compared with these items, if the page is stored as received.
            belief.recent.keep(page.content.identities)
            if let detectedPaging = page.detectedPaging {
                belief.pageOne.detectedPaging = detectedPaging
                detectedPaging.warnings.forEach(warn)
            }
            try await classify(page)
        }
    }

    /// Handles a 304, which confirms the page. The 304 confirms the total only if the validator covers the total, or if
    /// the 304 contains the total (R16).
    private func headConfirmed(_ total: ListTotal, _ validator: Validator?) async throws(StorageError) {
        if try await isConfirmedWithoutReading(total, validator) { return }
        guard !belief.drift.isSuspicious, let query, let list = try await storage.outline(of: query),
            !list.contradictsItself, !mayBeMiscounted(list.record),
            let head = list.heldPages.first(where: { $0.offset == 0 })
        else { return askAgain() }
        let known = list.record.total
        guard head.validator?.covers(total, known: known) ?? (total.count == known.count) else { return askAgain() }

        adopt(head, list)
        let parts = try await storage.window(of: query, head.range)?.parts ?? []
        belief.pageOne.confirm(parts.filter(\.isHeld).flatMap { $0.content.identities })
        counts.pagesUnchanged += 1
        lookAtEnd(after: known)
        let outcome = try await apply(
            CommitPlan(
                query: query, version: list.record.version,
                edits: [.touchPage(offset: 0, validator: validator), .validated],
                ledger: [leases.succeeded(0)], requestLease: leases[0]))
        guard case .committed = outcome else { return askAgain() }
        reconciled(.unchanged, list)
    }

    /// Whether a list by position ends before its total, which is stored as an estimate. The origin may state that
    /// total as exact, and return fewer items. Only an answer with page one shows the stated total (R24).
    func mayBeMiscounted(_ record: QueryRecord) -> Bool {
        guard access.supportsRandomAccess, case .estimate(let total) = record.total, let end = record.end else {
            return false
        }
        return total > end
    }

    /// Uses the held page one. A page with a validator is stored as it was received (R1). A page without a validator
    /// may have been joined with other pages.
    func adopt(_ head: PageSummary, _ list: ListOutline) {
        // Page one from another run may be longer than the page size that this run requests.
        let size = source.access == .offsets ? min(head.count, options.pageSize ?? .max) : head.count
        belief.sizes.observe(
            pageOne: size, requested: options.pageSize, isWhole: list.record.end == head.count,
            isSure: head.validator != nil)
        belief.pageOne.adopt(count: head.count, next: head.cursorOut, total: list.record.total)
    }

    /// Requests page one once more, without its validator.
    func askAgain() {
        belief.drift.asksUnconditionally = true
        queue.add([.firstPage])
    }

    private func classify(_ page: FetchedPage) async throws(StorageError) {
        var before = belief.pageOne.received
        belief.pageOne.received = page.content.identities.map(\.key)
        if belief.order.isWalkAgainNeeded(after: belief.pageOne.received) { pass.walk.mode = .whole }
        // An end of a chain waits for confirmation. A page one without any held item is another list, and does not show
        // which items were removed.
        if pass.witness.isAwaited, access == .chain, phase.recheck == nil, let query,
            try await !storage.locate(Set(belief.pageOne.received), in: query).isEmpty,
            belief.order.isWalkAgainNeeded(from: before, to: belief.pageOne.received)
        {
            pass.walkAgain()
        }
        if try await isUnchangedWithoutReading(page) { return }
        let known: QueryID
        if let query { known = query } else { known = try await storage.register(key).id }
        query = known
        // Another process may commit between the read and the commit. The loop then reads the list again (R4).
        for _ in 0..<8 {
            // The list was purged, so the answer belongs to no list, and the run begins no other list (R4).
            guard let list = try await storage.outline(of: known) else { return }
            // Another owner may have stored the list while page one was in flight.
            guard isOurs(list.record) else { return }
            // Another total shows a change that page one need not show.
            if belief.hidden.isHiding, list.record.validatedAt != nil,
                belief.hidden.walk.countsOtherwise(than: list.record.total)
            {
                pass.walk.mode = .whole
            }
            // After a part was loaded while the total changed, the total is unknown. The held pages may then lack items that
            // deletes have moved, because a cursor can be a position (R22).
            if access == .chain, options.work == .everything, list.record.total == .unknown,
                page.total.exactCount != nil, list.coverage.headEnd > page.content.count
            {
                pass.walk.mode = .whole
            }
            var page = page.trusted(against: list)
            if access.supportsRandomAccess, list.contradictsItself { belief.drift.suspect() }
            if !list.record.allowsDuplicates, belief.pageOne.repeats(page.repeatedKeys) { return askAgain() }
            belief.drift.isShrinkConfirmed = shrinkConfirmation(page, list) == .isOver
            let cached = try await cached(for: &page, list)
            if before.isEmpty { before = cached.headIdentities.map(\.key) }
            // The answers that showed drift were cut at other positions, and the order of items within a page shows no
            // move.
            if belief.pageOrder.observe(belief.pageOne.received, after: before) { belief.drift.forgetEvidence() }
            before = belief.pageOne.received
            switch FirstPageDiff.decide(
                page, end: end(of: page), cached: cached, isConfirmed: belief.drift.isShrinkConfirmed)
            {
            case .unconfirmed:
                return try await deferPageOne(page, list)
            case .firstLoad:
                guard try await store([.insertPage(write(page))], of: page, list) else { continue }
                return try await firstPageCommitted(page, list.record.validatedAt == nil ? .firstLoad : .replaced, list)
            case .unchanged where !belief.drift.isSuspicious:
                guard try await confirm(page, list) else { continue }
                counts.pagesUnchanged += 1
                return try await firstPageCommitted(page, .unchanged, list, isChanged: false)
            case .unchanged, .changed:
                return try await reconcile(page, list)
            }
        }
        throw StorageError(.busy, "other processes keep changing this list; try again")
    }

    /// Returns the facts about the cached list. Items of `page` that equal stored ones as JSON get the stored bytes.
    func cached(for page: inout FetchedPage, _ list: ListOutline) async throws(StorageError) -> FirstPageDiff.Cached {
        let coverage = list.coverage
        let count = min(page.content.count, coverage.headEnd)
        let held = (try await storage.window(of: list.record.id, 0..<count)?.parts ?? []).filter(\.isHeld)
        let identities = held.flatMap { $0.content.identities }
        if identities != page.content.identities { page.content = page.content.keepingBytes(of: held.map(\.content)) }
        return FirstPageDiff.Cached(
            total: list.record.total, headEnd: coverage.headEnd, isEmpty: list.heldPages.isEmpty,
            readableEnd: list.pages.last?.range.upperBound ?? 0, headIdentities: identities)
    }

    /// Returns the position at which the list ends according to page one itself. Returns nil when page one does not
    /// show an end.
    func end(of page: FetchedPage) -> Int? {
        guard case .end(let position) = EndOfList.decide(page, at: 0, full: nil, access: access) else {
            return nil
        }
        return position
    }

    func write(_ page: FetchedPage) -> PageWrite {
        PageWrite(
            offset: 0, content: page.content, evidence: .verified, cursorOut: page.next, validator: page.validator)
    }

    /// Confirms the list after a page one without changes (R16). Returns false when another process has changed the
    /// list.
    /// - Parameters:
    ///   - page: the answer.
    ///   - list: the list as it was read.
    ///   - precondition: page one, if no other page of the list was read. Defaults to nil.
    func confirm(
        _ page: FetchedPage, _ list: ListOutline, restingOn precondition: PagePrecondition? = nil
    ) async throws(StorageError) -> Bool {
        let all = 0..<page.content.count
        var edits: [ListEdit] = []
        if list.heldPages.contains(where: { $0.range == all && $0.count > 0 }) {
            // The page is stored again, so that it has the newest validator and cursor.
            edits = [.insertPage(write(page))]
        } else if belief.hidden.isHiding, page.next != nil, page.content.count > 0 {
            // The cursor of page one shows later runs that the origin hides items (R53).
            edits = [.splice(all, write(page))]
        }
        edits.append(.markContiguous(all))
        // A different count is not a change if the known total is an estimate. The newest count is the best estimate.
        if case .estimate(let known) = list.record.total, let count = page.total.count, count != known {
            edits.append(.setTotal(.estimate(count)))
            // The end is checked when the origin counts fewer items than before.
            if count < known, access.supportsRandomAccess { pass.check.isDue = true }
        }
        var end = end(of: page)
        if end == nil {
            if list.record.end == page.content.count, page.next != nil || page.hasMore == true {
                // The list used to end with page one and now continues. The page is stored again for its cursor.
                edits.append(all.isEmpty ? .insertPage(write(page)) : .splice(all, write(page)))
            } else {
                end = list.record.end
                // An end that the origin has stated in this run is not requested again.
                if page.total.exactCount == nil || list.record.total.exactCount == nil,
                    !belief.hidden.walk.countsAlike(list.record.total), end.map(belief.end.isStated) != true
                {
                    pass.check.isDue = true
                }
            }
        }
        return try await commitHead(edits + [.setEnd(end)], page, list, restingOn: precondition)
    }

    /// Stores page one where no current items are held. Returns false when another process has changed the list.
    private func store(_ edits: [ListEdit], of page: FetchedPage, _ list: ListOutline) async throws(StorageError)
        -> Bool
    {
        var edits = edits
        if !page.repeatedKeys.isEmpty, !list.record.allowsDuplicates {
            // All other items are replaced, so only the answer itself can repeat ids (R25).
            warn("the origin repeats item ids, or equal items without ids, within a page; repeated items are kept")
            edits.insert(.setAllowsDuplicates(true), at: 0)
        }
        let end = end(of: page)
        // Two answers have shown that page one is the whole list. If older items stayed after page one, each later
        // answer would need a confirmation again (R20).
        if end != nil, belief.drift.isShrinkConfirmed { edits.append(.dropOlderGenerations) }
        return try await commitHead(
            edits + [.setTotal(page.total.believed(reached: page.content.count)), .setEnd(end)], page, list)
    }

    /// Begins a new generation with page one. The reconciliation found no cached item at the origin (R19), cannot
    /// compare items (R25), or was contradicted too often (R18). The cached items stay readable until the new list has
    /// been read.
    func replace(with page: FetchedPage) async throws(StorageError) {
        logReplaced()
        pass.hasReplaced = true
        for _ in 0..<8 {
            // The list was purged, so the answer belongs to no list (R4).
            guard let query, let list = try await storage.outline(of: query) else { return }
            if try await store([.startGeneration, .insertPage(write(page))], of: page, list) {
                return try await firstPageCommitted(page, .replaced, list)
            }
        }
        throw StorageError(.busy, "other processes keep changing this list; try again")
    }

    /// Commits the consequences of page one. Returns false when the list has changed since it was read.
    func commitHead(
        _ edits: [ListEdit], _ page: FetchedPage, _ list: ListOutline, restingOn precondition: PagePrecondition? = nil
    ) async throws(StorageError) -> Bool {
        var edits = edits
        if let detectedPaging = belief.pageOne.detectedPaging {
            edits.append(.describe(paging: detectedPaging.paging, source: detectedPaging.source))
        }
        var plan = CommitPlan(
            query: list.record.id, version: list.record.version,
            edits: edits + [.setFreshFor(page.freshFor), .validated], ledger: [leases.succeeded(0)],
            requestLease: leases[0])
        if let precondition {
            plan.preconditions = [precondition]
            plan.expectedLength = list.record.extent
        }
        guard case .committed = try await apply(plan) else { return false }
        belief.pageOne.detectedPaging = nil
        return true
    }
}

extension FetchedPage {
    /// The keys that occur more than once in the page.
    fileprivate var repeatedKeys: Set<UInt64> {
        var keys: Set<UInt64> = []
        return Set(content.identities.lazy.map(\.key).filter { !keys.insert($0).inserted })
    }
}
