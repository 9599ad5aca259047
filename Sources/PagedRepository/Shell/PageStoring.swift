import PageModel

/// Stores an answer by position, or finds out why the storage refuses it (R21, R25).
extension SyncRun {
    /// The result of storing an answer.
    enum Storing {
        case stored
        /// The answer is not stored, because it shows that the list has moved or ended.
        case notStored
        /// Another process has stored some items of the answer since, at the same positions. The answer must be
        /// compared again.
        case changed
    }

    /// Stores the items of an answer. If other pages hold some of them, the list may have moved between the two
    /// answers.
    ///
    /// The first collision restarts the pass. A collision that persists shows that the list repeats ids (R25).
    func store(
        _ edits: [ListEdit], _ page: FetchedPage, at start: Int, _ range: Range<Int>, _ query: QueryID,
        _ list: ListOutline, mayLookAgain: Bool
    ) async throws(StorageError) -> Storing {
        var plan = CommitPlan(
            query: query, version: list.record.version, edits: edits,
            ledger: LedgerEdit.arrived(range, from: start, list, lease: leases[range.lowerBound]))
        var outcome = try await apply(plan)
        if case .duplicates(let held) = outcome {
            let identities = page.content.identities
            let places = try await storage.locate(Set(identities.map(\.key)), in: query)
            let shifts = page.content.shifts(at: start, places).filter { $0 != 0 }
            if shifts.isEmpty, mayLookAgain { return .changed }
            switch try await behindEnd(page, places, at: start, of: range, query) {
            case .undecided:
                return .notStored
            case .elsewhere(let target):
                queue.add([target])
                return .notStored
            case .part(let part):
                try await spanArrived(.page(part), range, overlap: range.lowerBound - start, isCut: true)
                return .notStored
            case nil: break
            }
            let arrivals = belief.repeats.observe(identities, at: start, places)
            let isKnownWhole = identities.allSatisfy { places[$0.key] != nil }
            if isKnownWhole, try await isRepeatedPage(page, places, at: start, of: range, query) { return .notStored }
            let isAlike = try await areHeldAlike(page.content, places, query)
            switch belief.collide(
                arrivals, isKnownWhole: isKnownWhole, isAlike: isAlike, shifts: shifts, source.access)
            {
            case .ignoredPosition:
                try await originIgnoresOffsets(at: range.lowerBound)
                return .notStored
            case .moved:
                listMoved(page, at: start)
                return .notStored
            case .walkByPosition:
                walkByPosition()
                return .notStored
            case .secondLook:
                plan.edits.insert(contentsOf: held.map { .markStale($0) }, at: 0)
            case .repeatedIDs:
                warn("the origin repeats item ids, or equal items without ids; repeated items are kept")
                plan.edits.insert(.setAllowsDuplicates(true), at: 0)
            }
            outcome = try await apply(plan)
        } else {
            belief.repeats.restart()
        }
        switch outcome {
        case .committed: return .stored
        // Another process moved the list. The positions are still a gap, and are requested again.
        case .superseded, .duplicates:
            pass.mustRestart = true
            return .notStored
        }
    }

    /// Stores an answer in the answer's order, if the list holds some of the items at these positions and lacks the
    /// others (R5). Returns false when items have moved, or when another process has changed the list.
    /// - Parameters:
    ///   - page: the answer.
    ///   - start: the position of its first item.
    ///   - missing: the positions of its items that are not held.
    ///   - list: the list around these positions.
    func takesOrder(
        of page: FetchedPage, at start: Int, _ missing: [Range<Int>], _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        let observed = try await observed(page, at: start, list.record.id, isEnd: false, asked: start..<start)
        let new = missing.reduce(0) { $0 + $1.count }
        guard !list.record.allowsDuplicates, let ordered = observed.ordering(held: observed.content.count - new),
            case .committed(let version) = try await apply(
                [.rearrange(ordered), .markContiguous(observed.range)], to: list)
        else { return false }
        // The answer itself has moved the items, so it still belongs to the list (R4).
        leases.requestState.under = version
        if new > 0 { belief.end.observe(itemsBefore: observed.range.upperBound) }
        announce(observed.range, newItems: new)
        return true
    }
}

extension PageContent {
    /// The difference between each held item's position in the answer and its position in the list, in order.
    /// - Parameters:
    ///   - start: the position of the answer's first item.
    ///   - places: the positions of the held items in the list, by key.
    func shifts(at start: Int, _ places: [UInt64: ItemPlace]) -> [Int] {
        identities.enumerated().compactMap { index, identity in
            places[identity.key].map { start + index - $0.position }
        }
    }
}
