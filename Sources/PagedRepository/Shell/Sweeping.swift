import PageModel

/// Verifies every page of the list once, and repairs the pages that differ (R23). The progress is stored, so that a
/// later run can continue.
extension SyncRun {
    /// Whether a sweep was requested, and has not ended in this run.
    var sweepOutstanding: Bool { counts.reconciliation != .swept }

    /// Continues the sweep at the position where the last one stopped. Page one has just been confirmed.
    func sweep() async throws(StorageError) -> FetchQueue.Ending {
        guard let query, let list = try await storage.outline(of: query) else { return .drained }
        // Background work starts no sweep. Otherwise two processes could each start a sweep that the other has
        // finished, and never stop.
        guard list.record.sweep != nil || passes.sweep.isBegun || !options.onlyFinishesSweeps else { return .drained }
        passes.sweep.isBegun = true
        passes.sweep.isRecorded = list.record.sweep != nil
        failures.unverified = [:]
        switch access {
        case .single:
            // Page one is the whole list, and was confirmed just now.
            if list.isComplete { try await apply([.audited], to: list) }
            return .drained
        case .chain:
            return try await sweepChain(list)
        case .offsets, .grid:
            break
        }
        let begun = list.record.sweep ?? SweepProgress(position: 0, startedAt: clock.now())
        // If the order of items within a page proves nothing, a page that was verified in part is verified again.
        let position = belief.pageOrder.isArbitrary ? grid.aligned(begun.position) : begun.position
        // This run has verified page one.
        let pageOne = grid.aligned(belief.pageOne.count)
        phase = .sweeping(
            PositionSweep(
                position: max(position, pageOne), start: position <= pageOne ? 0 : position,
                version: list.record.version))
        defer { phase = .loading }
        let suppressed = suppressedPlaces(of: list)
        while !phase.sweep.isDone, !pass.mustRestart {
            // The position of an unconfirmed end is not requested again before page one is answered.
            let requestRanges = grid.requestRanges(
                from: phase.sweep.position, most: options.concurrency, total: list.record.total.exactCount
            ).prefix { !suppressed.contains(placeInSweep(of: $0)) }
            // A background run leaves the sweep at a page whose retry is not due (R33).
            guard pass.witness.isAwaited || !requestRanges.isEmpty else { return .drained }
            queue.add(pass.witness.isAwaited ? [.firstPage] : requestRanges.map { .sweep($0) })
            let ending = try await drive()
            phase.sweep.answers.removeAll()
            if ending != .drained { return ending }
            if leases.isHeldElsewhere { await waitForOthers() }
            if failures.head != nil { return .drained }
        }
        return .drained
    }

    /// The positions at which pages are requested.
    private var grid: SweepGrid {
        SweepGrid(
            access: belief.placing(source.access), pageSize: belief.sizes.size,
            isSizeSure: belief.sizes.full(source.access) != nil)
    }

    /// The request that verifies the next positions.
    var nextSweepRequest: Range<Int> { grid.requestRange(phase.sweep.position) }

    /// Returns the position of the ledger entry for a request that verifies held items: the first requested position
    /// that is not verified yet.
    func placeInSweep(of requestRange: Range<Int>) -> Int { max(grid.position(of: requestRange), phase.sweep.position) }

    /// Handles an answer of a sweep. Answers are applied in order of position, whatever their order of arrival.
    func sweepArrived(_ answer: PageAnswer, _ range: Range<Int>) async throws(StorageError) {
        if case .page(let page) = answer {
            phase.sweep.answers[range.lowerBound] = page
        } else {
            phase.sweep.answers[range.lowerBound] = FetchedPage(content: PageContent())
        }
        while !phase.sweep.isDone, !pass.mustRestart,
            let page = phase.sweep.answers.removeValue(forKey: nextSweepRequest.lowerBound)
        {
            try await handleSweptPage(page)
        }
    }

    private func handleSweptPage(_ page: FetchedPage) async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query) else {
            // The list was purged, so no further answer is applied.
            queue.clear()
            return pass.mustRestart = true
        }
        if isSweptByOthers(list) {
            queue.clear()
            return phase.sweep.isDone = true
        }
        if list.record.version != phase.sweep.version {
            // Another process has changed the list. A later run checks the page.
            if phase.recheck != nil { return phase.sweep.isDone = true }
            return try await listMovedInSweep(list)
        }
        let place = SweepPlace(
            list: list, position: phase.sweep.position, start: phase.sweep.start, grid: grid, witness: pass.witness,
            isRecheck: phase.recheck != nil)
        if list.record.allowsDuplicates { return try await perform(place.step(unaligned: page), page, at: place) }
        if place.contradicts(page.total, belief.pageOne) { return try await listMovedInSweep(list) }
        let start = place.requestRange.lowerBound
        if try await isShort(page, at: place) { return lookAgain(at: page, from: start, .sweep(place.requestRange)) }
        let observed = try await observed(page, at: start, query, isEnd: false, asked: start..<start)
        try await perform(place.step(observed, page), page, at: place)
    }

    /// Whether an answer is shorter than requested although the list continues after it (R53).
    private func isShort(_ page: FetchedPage, at place: SweepPlace) async throws(StorageError) -> Bool {
        if let isShort = place.isShort(page) { return isShort }
        let start = place.requestRange.lowerBound
        // Items that are held at earlier positions show only that the origin repeats itself after the end (R24).
        let behind = phase.sweep.answers.filter { $0.key > start }.flatMap { $0.value.content.identities.map(\.key) }
        guard !behind.isEmpty else { return false }
        let places = try await storage.locate(Set(behind), in: place.list.record.id)
        return behind.contains { places[$0].map { $0.position >= start + page.content.count } ?? true }
    }

    private func perform(_ step: SweepStep, _ page: FetchedPage, at place: SweepPlace) async throws(StorageError) {
        let list = place.list
        switch step {
        case .store(let swept):
            counts.count(isSame: swept.isSame)
            try await store(swept, page, at: place)
        case .end(let swept, let edits, let isWindow):
            if let swept { counts.count(isSame: swept.isSame) }
            queue.clear()
            let answered = place.position..<max(place.requestRange.upperBound, swept?.range.upperBound ?? 0)
            guard try await commit(edits, failuresAnswered(in: answered, of: list), list) else { return }
            failures.verified(answered)
            phase.sweep.isDone = true
            if !isWindow { try await clearDuplicatesMark() }
            reconciled(.swept, list)
        case .confirmEnd(let swept, let end):
            if let swept { counts.count(isSame: swept.isSame) }
            requestWitness(for: .sweep(place.requestRange), end: end)
        case .moved(let observed):
            try await listMovedInSweep(list, observed)
        }
    }

    /// Stores a verified page, and continues after it.
    private func store(_ swept: SweptPage, _ page: FetchedPage, at place: SweepPlace) async throws(StorageError) {
        let (list, after) = (place.list, swept.range.upperBound)
        let isAligned = !list.record.allowsDuplicates
        if isAligned, let recheck = phase.recheck { return try await handleCheckedPage(swept, page, of: recheck, list) }
        guard try await commit(swept.edits, failuresAnswered(in: swept.range, of: list), list) else { return }
        failures.verified(swept.range)
        passes.sweep.isRecorded = true
        if isAligned { announce(swept.range, newItems: 0) }
        phase.sweep.position = after
        // After a short page, the planned positions do not fit any more. The rest of the page is requested again with
        // its whole page of the grid.
        if after != grid.aligned(after) || isAligned && swept.range.count < grid.step { queue.clear() }
    }

    /// Whether another process has finished the sweep, and this run may only continue sweeps (R31).
    func isSweptByOthers(_ list: ListOutline) -> Bool {
        options.onlyFinishesSweeps && passes.sweep.isRecorded && list.record.sweep == nil
    }

    /// Removes the mark of repeated ids after a sweep. The storage refuses this while ids still repeat (R25).
    private func clearDuplicatesMark() async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query), list.record.allowsDuplicates else { return }
        try await apply([.setAllowsDuplicates(false)], to: list)
    }

    /// Handles a list that moved during the sweep, or has other items than an answer. Page one is fetched again. The
    /// sweep then continues at its stored position, which a change before it sets back. After two failures at one
    /// position, the sweep starts again (R23, R31).
    func listMovedInSweep(_ list: ListOutline, _ observed: ObservedPage? = nil) async throws(StorageError) {
        if passes.sweep.failed(at: phase.sweep.position) {
            _ = try await commit([.setSweep(nil)], [], list)
        }
        if let observed,
            belief.isShiftedAgain(observed.content.shifts(at: observed.offset, observed.placesByKey), source.access)
        {
            return walkByPosition()
        }
        pass.mustRestart = true
        belief.drift.suspect()
        queue.clear()
    }

    private func sweepChain(_ list: ListOutline) async throws(StorageError) -> FetchQueue.Ending {
        var start = (position: belief.pageOne.count, cursor: belief.pageOne.next)
        if let progress = list.record.sweep, let cursor = progress.cursor, list.coverage.headEnd >= progress.position {
            start = (progress.position, cursor)
        }
        pass.walk.mode = .whole
        belief.hidden.walk.restart()
        phase = .sweepingChain(isAtEnd: belief.pageOne.next == nil)
        defer {
            phase = .loading
            pass.walk.mode = nil
        }
        if let cursor = start.cursor {
            queue.add([.cursor(cursor, offset: start.position)])
            let ending = try await drive()
            if ending != .drained || pass.mustRestart { return ending }
        }
        guard let query, let list = try await storage.outline(of: query) else { return .drained }
        guard phase == .sweepingChain(isAtEnd: true), list.isComplete || list.isAtResultWindow else {
            // The sweep of a chain ends only when the walk has reached the end of the chain (R23).
            return .drained
        }
        if try await commit([.setSweep(nil), .audited], [], list) {
            try await clearDuplicatesMark()
            if let list = try await storage.outline(of: list.record.id) { try await resumeRequestsByPosition(list) }
            reconciled(.swept, list)
        }
        return .drained
    }
}
