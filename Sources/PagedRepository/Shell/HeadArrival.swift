import PageModel

extension SyncRun {
    /// Page one was answered: what does it say of the whole list?
    func headArrived(_ answer: PageAnswer) async throws(StorageError) {
        headFailure = nil
        switch answer {
        case .pastEnd:
            headFailure = FetchFailure(.refused, "the origin has no page one", isRetryable: false)
        case .notModified(let total, let validator):
            try await headConfirmed(total, validator)
        case .page(let page):
            asksUnconditionally = false
            if page.content.count > 0 { pageSize = max(options.pageSize ?? 0, page.content.count) }
            if let lesson = page.lesson { lesson.warnings.forEach(warn) }
            try await reconcile(page)
        }
    }

    /// R16: a 304 confirms the page; it confirms the total only if that was validated too, or stands on the 304.
    private func headConfirmed(_ total: Total, _ validator: Validator?) async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query),
            let head = list.heldPages.first(where: { $0.offset == 0 })
        else { return askAgain() }
        let known = list.record.total
        guard total == .unknown ? (head.validator?.coversTotal ?? false) || known == .unknown : total.count == known.count
        else { return askAgain() }

        pageSize = max(options.pageSize ?? 0, head.count, 1)
        pagesUnchanged += 1
        let outcome = try await apply(
            CommitPlan(
                query: query, version: list.record.version, at: clock.now(),
                edits: [.confirm(offset: 0, validator: validator), .validated], ledger: [.succeeded(offset: 0)]))
        guard case .committed = outcome else { return askAgain() }
        reconciled(.unchanged, list)
    }

    private func askAgain() {
        asksUnconditionally = true
        queue.add([.head])
    }

    private func reconcile(_ page: FetchedPage) async throws(StorageError) {
        let record = try await storage.register(key, at: clock.now())
        query = record.id
        // Another process may commit between our look and our commit; then we look again (R4).
        for _ in 0..<8 {
            guard let list = try await storage.outline(of: record.id) else { break }
            let verdict = HeadReconciler.decide(
                page, end: end(of: page), cached: try await cached(for: page, list), isConfirmed: isConfirmingHead)
            if verdict == .doubtful {
                isConfirmingHead = true
                asksUnconditionally = true
                // R20: a confirmation from the same bad moment would be worth nothing.
                return queue.add(.head, at: clock.now() + options.confirmationPause)
            }
            var plan = plan(for: verdict, page, list)
            var outcome = try await apply(plan)
            if case .duplicates = outcome {
                // Only the answer itself is left to repeat ids: everything else gave way or was moved (R25).
                warn("the origin repeats item ids within a page; repeated items are kept")
                plan = self.plan(for: .unexplained, page, list)
                plan.edits.insert(.allowDuplicates, at: 0)
                outcome = try await apply(plan)
            }
            guard case .committed = outcome else { continue }
            if isConfirmingHead, verdict != .unchanged {
                let now = page.total.count ?? page.content.count
                warn("the origin says twice that the list has shrunk to \(now) \(now == 1 ? "item" : "items")")
            }
            isConfirmingHead = false
            if verdict == .unchanged { pagesUnchanged += 1 } else { pagesFetched += 1 }
            reconciled(meaning(of: verdict, list), try await storage.outline(of: record.id) ?? list)
            announce(0..<page.content.count, news: 0)
            return
        }
        throw StorageError(.busy, "other processes keep changing this list; try again")
    }

    private func cached(for page: FetchedPage, _ list: ListOutline) async throws(StorageError) -> HeadReconciler.Cached {
        let coverage = list.coverage
        let count = min(page.content.count, coverage.headEnd)
        let window = try await storage.window(of: list.record.id, 0..<count)
        let keys = Set(page.content.identities.map(\.key))
        return HeadReconciler.Cached(
            total: list.record.total,
            headEnd: coverage.headEnd,
            isEmpty: list.heldPages.isEmpty,
            readableEnd: list.pages.last?.range.upperBound ?? 0,
            headIdentities: (window?.parts ?? []).filter(\.isHeld).flatMap { $0.content.identities },
            positions: try await storage.locate(keys, in: list.record.id).mapValues(\.position))
    }

    /// Where page one itself says that the list ends.
    private func end(of page: FetchedPage) -> Int? {
        guard case .end(let position) = EndOfList.decide(page, at: 0, full: nil, access: source.access) else { return nil }
        return position
    }

    private func plan(for verdict: HeadReconciler.Verdict, _ page: FetchedPage, _ list: ListOutline) -> CommitPlan {
        let write = PageWrite(
            offset: 0, content: page.content, evidence: .verified, cursorOut: page.next, validator: page.validator)
        let growth = (page.total.exactCount ?? 0) - (list.record.total.exactCount ?? 0)
        var end = end(of: page)

        var edits: [ListEdit] = []
        switch verdict {
        case .firstLoad:
            edits = [.put(write)]
        case .unchanged:
            edits = list.heldPages.filter { $0.range.upperBound <= page.content.count }.map {
                .confirm(offset: $0.offset, validator: $0.range == 0..<page.content.count ? page.validator : nil)
            }
            if end == nil {
                if list.record.end == page.content.count {
                    // What was the whole list goes on now: the page is stored again for its cursor.
                    edits.append(.splice(0..<page.content.count, write))
                } else if page.total.exactCount != nil, list.record.total.exactCount != nil {
                    end = list.record.end
                } else {
                    // R24: without a total nobody says whether the list has grown: its last page is asked for again.
                    edits += reopening(list, behind: page)
                }
            }
        case .spliced(let replaced, let moved):
            // From behind, so that each position still holds when its turn comes.
            edits = moved.reversed().map { .splice($0..<$0 + 1, nil) } + [.splice(0..<replaced, write)]
            if end == nil { end = list.record.end.map { $0 + growth } }
        case .noOverlap, .unexplained:
            edits = [.beginGeneration, .put(write)]
        case .doubtful:
            preconditionFailure("a doubtful head is asked for again, not applied")
        }
        if let lesson = page.lesson { edits.append(.describe(paging: lesson.paging, source: lesson.source)) }
        // A total that was found to be wrong is not believed again because the origin repeats it.
        if verdict != .unchanged { edits.append(.setTotal(page.total)) }
        if options.refreshOnly, end == nil, verdict == .unchanged { end = list.record.end }
        edits += [.setEnd(end), .validated]
        return CommitPlan(
            query: list.record.id, version: list.record.version, at: clock.now(), edits: edits,
            ledger: [.succeeded(offset: 0)])
    }

    /// What makes the last page of a list be asked for once more.
    private func reopening(_ list: ListOutline, behind page: FetchedPage) -> [ListEdit] {
        guard list.record.end != nil, !options.refreshOnly, source.access == .chain,
            let tail = LoadPlan.tailWithoutCursor(of: list), tail.lowerBound >= page.content.count
        else { return [] }
        return [.demote(tail)]
    }

    private func meaning(of verdict: HeadReconciler.Verdict, _ list: ListOutline) -> SyncReport.Reconciliation {
        switch verdict {
        case .firstLoad: list.record.validatedAt == nil ? .firstLoad : .replaced
        case .unchanged: .unchanged
        case .spliced: .shifted
        case .noOverlap, .unexplained, .doubtful: .replaced
        }
    }

    /// Notes what page one meant for the list. The strongest finding of a run is the one that is reported.
    func reconciled(_ finding: SyncReport.Reconciliation, _ list: ListOutline) {
        switch (reconciliation, finding) {
        case (.resumed, .unchanged), (.firstLoad, _), (.replaced, _), (.shifted, .unchanged): break
        default: reconciliation = finding
        }
        heldItems = list.coverage.count
        knownLength = list.record.end ?? list.record.total.count
        progress(.reconciled(reconciliation))
    }
}
