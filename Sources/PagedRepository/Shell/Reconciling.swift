import PageModel

/// Carries out what the `Reconciler` decides: asks its questions, and commits its repair in one step (R4, R17, R18).
extension SyncRun {
    /// A reconciliation under way.
    struct Reconciliation {
        var machine: Reconciler
        /// The page one that it is about.
        var page: FetchedPage
        var list: ListOutline
        /// Questions that have not been answered.
        var open = 0
    }

    /// Page one is not what it was.
    func reconcile(_ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        let head = try await sighting(page, at: 0, list.record.id, isEnd: end(of: page) != nil, asked: nil)
        var page = page
        page.content = head.content
        // R25: where ids repeat, or the origin cannot be asked for places, nothing can be looked up.
        guard !list.record.allowsDuplicates, !head.repeatsItems, source.access != .single else {
            return try await replace(with: page)
        }
        let isChain = source.access == .chain
        var isGrid = false
        var size = pageSize
        if case .grid(let grid) = source.access {
            isGrid = true
            size = grid
        }
        var machine = Reconciler(
            head: head, total: page.total,
            cached: Reconciler.Cached(
                runs: list.coverage.runs, length: list.record.end ?? list.record.total.exactCount,
                pages: (list.coverage.count + size - 1) / max(size, 1)),
            reach: Reconciler.Reach(
                pageSize: size, probeSize: min(source.probeSize ?? size, size), isGrid: isGrid, isRandom: !isChain,
                window: list.record.window ?? .max),
            isSuspicious: isSuspicious)
        if isChain, !machine.isExplained {
            return try await walkFromHead(head, page, list)
        }
        let clues = evidence.filter { $0.page.total.count == page.total.count }
        evidence = []
        if !isSuspicious, machine.isExplained, !clues.isEmpty, clues.allSatisfy({ !$0.isEnd }) {
            reconciliationUnderWay = Reconciliation(machine: machine, page: page, list: list)
            try await carryOn()
            return try await store(clues, list.record.id)
        }
        for clue in clues {
            var sighting = try await sighting(
                clue.page, at: clue.offset, list.record.id, isEnd: clue.isEnd, asked: clue.offset..<clue.offset)
            sighting.isWitnessed = clue.isEnd
            machine.learn(clue: sighting, total: clue.page.total)
        }
        reconciliationUnderWay = Reconciliation(machine: machine, page: page, list: list)
        try await carryOn()
    }

    /// Stores answers of the state of the list that page one has just explained, at the positions that were requested
    /// (R21).
    private func store(_ clues: [Clue], _ query: QueryID) async throws(StorageError) {
        for clue in clues where !pass.mustRestart && reconciliationUnderWay == nil {
            guard let list = try await storage.excerpt(of: query, 0..<0), list.record.total == clue.page.total else {
                return
            }
            asked.under = list.record.version
            let range = clue.offset..<clue.offset + clue.page.content.count
            try await spanArrived(.page(clue.page), range, overlap: 0)
        }
    }

    /// What the machine wants next.
    private func carryOn() async throws(StorageError) {
        guard var work = reconciliationUnderWay else { return }
        let action = work.machine.next()
        reconciliationUnderWay = nil
        switch action {
        case .ask(let questions):
            work.open = questions.count
            reconciliationUnderWay = work
            queue.add(questions.map { .probe($0) })
        case .startOver:
            contradictions += 1
            // R18: at most twice; then the list is read again, readable meanwhile.
            guard contradictions <= 2 else { return try await replace(with: work.page) }
            askAgain()
        case .replaced:
            try await replace(with: work.page)
        case .commit(let repair):
            try await commit(repair, work)
        }
    }

    private func commit(_ repair: Repair, _ work: Reconciliation) async throws(StorageError) {
        let page = work.page
        // What others brought while questions were asked was not part of what was reasoned about: look again (R4),
        // twice at most.
        if repair.isChange || !repair.demoted.isEmpty, secondLooks < 2,
            let now = try await storage.outline(of: work.list.record.id), now.coverage.runs != work.list.coverage.runs
        {
            secondLooks += 1
            return askAgain()
        }
        var edits = repair.edits
        if repair.isHeadUntouched, work.list.heldPages.contains(where: { $0.range == 0..<page.content.count }) {
            // Stored again, it is agreed with, and keeps its cheap refresh: its validator is the newest (R1).
            edits.append(.put(write(page)))
        }
        edits += [.setTotal(repair.total), .setEnd(endAfter(repair, work))]
        if try await commitHead(edits, page, work.list) {
            // A list that lives contradicts itself now and then: what counts is that nothing came of it.
            contradictions = 0
            return try await settled(page, repair.finding, work.list, isNews: repair.isChange)
        }
        // Somebody else has changed the list meanwhile, or an item is where it cannot be: look again (R4).
        contradictions += 1
        guard contradictions <= 2 else { return try await replace(with: page) }
        askAgain()
    }

    private func endAfter(_ repair: Repair, _ work: Reconciliation) -> Int? {
        if let end = end(of: work.page) { return end }
        // Without a total, that the list ended there yesterday says nothing: whoever loads on will see.
        guard work.page.total.exactCount != nil || options.work == .refresh else { return nil }
        return work.list.record.end == nil ? nil : repair.end
    }

    /// A question was answered.
    func probeArrived(_ answer: PageAnswer, _ range: Range<Int>) async throws(StorageError) {
        guard var work = reconciliationUnderWay else { return }
        work.open -= 1
        switch answer {
        case .page(let page):
            // R20: that an answer is short proves nothing here; what lies behind it would be dropped.
            let isEnd =
                EndOfList.decide(
                    page.knowing(work.machine.total), at: range.lowerBound, full: nil, access: source.access)
                == .end(at: range.lowerBound + page.content.count)
            let sighting = try await sighting(
                page, at: range.lowerBound, work.list.record.id, isEnd: isEnd || page.content.isEmpty, asked: range)
            work.machine.learn(sighting, total: page.total)
        case .pastEnd, .notModified:
            work.machine.learn(
                Sighting(offset: range.lowerBound, content: PageContent(), places: [:], isEnd: true), total: .unknown)
        }
        reconciliationUnderWay = work
        if work.open == 0 { try await carryOn() }
    }

    /// A question could not be answered: the refresh has failed, and nothing that is served changes (R14).
    func questionFailed(_ failure: FetchFailure) {
        reconciliationUnderWay = nil
        headFailure = failure
        queue.clear()
    }

    /// An answer, with where the cached list holds its items. Those that are equal to stored ones as JSON get their
    /// bytes.
    func sighting(
        _ page: FetchedPage, at offset: Int, _ query: QueryID, isEnd: Bool, asked: Range<Int>?,
        cursor: PageCursor? = nil
    ) async throws(StorageError) -> Sighting {
        let places = try await storage.locate(Set(page.content.identities.map(\.key)), in: query)
        let content = try await keepingBytes(of: page.content, at: places, in: query)
        return Sighting(
            offset: offset, content: content, places: places, isEnd: isEnd, cursorIn: cursor, cursorOut: page.next,
            validator: asked == nil ? page.validator : nil)
    }
}

extension Repair {
    /// What it means in a report.
    var finding: SyncReport.Reconciliation {
        if hasAsked { return .repaired }
        return isChange ? .shifted : .unchanged
    }
}
