import PageModel

/// Verifies every page of the list once, and repairs the pages that differ (R23). The progress is stored, so that a
/// later run can continue.
extension SyncRun {
    /// Whether a sweep was requested, and has not ended in this run.
    var sweepOutstanding: Bool { counts.reconciliation != .swept }

    /// Sweeps from where the last sweep stopped. Page one has just been confirmed.
    func sweep() async throws(StorageError) -> FetchQueue.Ending {
        guard let query, let list = try await storage.outline(of: query) else { return .drained }
        // Otherwise two processes that continue each other's sweep would never stop.
        guard list.record.sweep != nil || passes.sweep.isBegun || !options.onlyFinishesSweeps else { return .drained }
        passes.sweep.isBegun = true
        passes.sweep.isRecorded = list.record.sweep != nil
        switch access {
        case .single:
            return .drained
        case .chain:
            return try await sweepChain(list)
        case .offsets, .grid:
            break
        }
        let begun = list.record.sweep ?? SweepProgress(position: 0, startedAt: clock.now())
        phase = .sweeping(
            PositionSweep(position: max(begun.position, aligned(belief.pageOne.count)), version: list.record.version))
        defer { phase = .loading }
        while !phase.sweep.isDone, !pass.mustRestart {
            // The doubted position is not requested again before page one is answered.
            queue.add(pass.witness.isAwaited ? [.head] : sweepPositions(list).map { .sweep(question($0)) })
            let ending = try await drive()
            phase.sweep.answers.removeAll()
            if ending != .drained { return ending }
            if leases.isElsewhere { await waitForOthers() }
            if failures.head != nil { return .drained }
        }
        return .drained
    }

    /// Returns the nearest position at or before this one that can be requested.
    private func aligned(_ position: Int) -> Int {
        if case .grid(let size) = source.access { position / size * size } else { position }
    }

    /// The number of items that are requested again with each answer, for an origin that accepts any offset (R21).
    private var sweepOverlap: Int { if case .offsets = source.access, belief.sizes.size > 1 { 1 } else { 0 } }
    private var sweepStep: Int {
        if case .grid(let size) = source.access { size } else { belief.sizes.size - sweepOverlap }
    }

    /// Returns the next positions to request, all at once. If the total is not passed yet, no position is greater than
    /// it.
    private func sweepPositions(_ list: ListOutline) -> [Int] {
        let step = sweepStep
        let positions = (0..<options.concurrency).map { phase.sweep.position + $0 * step }
        guard let total = list.record.total.exactCount, total >= phase.sweep.position else { return positions }
        return positions.prefix(1) + positions.dropFirst().filter { $0 <= total }
    }

    func question(_ position: Int) -> Range<Int> {
        // On a grid, positions of the page that are already swept arrive again.
        if case .grid(let size) = source.access { return aligned(position)..<aligned(position) + size }
        return max(0, position - sweepOverlap)..<position + sweepStep
    }

    /// Handles an answer of a sweep. Answers are applied in order of position, whatever their order of arrival.
    func sweepArrived(_ answer: PageAnswer, _ range: Range<Int>) async throws(StorageError) {
        if case .page(let page) = answer {
            phase.sweep.answers[range.lowerBound] = page
        } else {
            phase.sweep.answers[range.lowerBound] = FetchedPage(content: PageContent())
        }
        while !phase.sweep.isDone, !pass.mustRestart,
            let page = phase.sweep.answers.removeValue(forKey: question(phase.sweep.position).lowerBound)
        {
            try await lay(page)
        }
    }

    private func lay(_ page: FetchedPage) async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query) else {
            // The list was purged, so no further answer is applied.
            queue.clear()
            return pass.mustRestart = true
        }
        if isSweptByOthers(list) {
            queue.clear()
            return phase.sweep.isDone = true
        }
        let start = question(phase.sweep.position).lowerBound
        if list.record.version != phase.sweep.version {
            // Another process has changed the list. A later run checks the page.
            if phase.recheck != nil { return phase.sweep.isDone = true }
            return try await listMovedInSweep(list)
        }
        if list.record.allowsDuplicates { return try await layUnaligned(page, list) }
        if let now = page.total.exactCount, now != list.record.total.exactCount ?? now || contradictsPageOne(now) {
            return try await listMovedInSweep(list)
        }
        if try await isShortInSweep(page, start, list) {
            return lookAgain(at: page, from: start, .sweep(question(phase.sweep.position)))
        }
        var sighting = try await sighting(page, at: start, query, isEnd: false, asked: start..<start)
        if sighting.repeatsItems { return try await listMovedInSweep(list) }
        if isEndAgain(page, sighting, list) {
            let question = question(phase.sweep.position)
            guard page.total.exactCount != nil || pass.witness.confirms(question.lowerBound, end: phase.sweep.position)
            else {
                return askWitness(for: .sweep(question), end: phase.sweep.position)
            }
            return try await endSweep(at: phase.sweep.position, list, [], page)
        }
        var content = sighting.content
        let overlap = phase.sweep.position - start
        if overlap > 0, content.count > 0 {
            // The item before must be where it was. Otherwise items were inserted or removed before it (R21).
            guard content.count >= overlap, sighting.places[overlap - 1]?.position == phase.sweep.position - 1 else {
                return try await listMovedInSweep(list, sighting)
            }
            content = content.slice(overlap..<content.count)
        }
        if content.isEmpty {
            if phase.recheck != nil { return try await listMovedInSweep(list) }
            return try await endSweep(at: phase.sweep.position, list, [], page)
        }
        let places = sighting.placesByKey
        sighting = ObservedPage(offset: phase.sweep.position, content: content, places: places, isEnd: false)
        let walk = CursorMerge(sighting, at: phase.sweep.position, runs: list.coverage.runs, keepsHole: false)
        guard walk.position == phase.sweep.position else { return try await listMovedInSweep(list) }
        let after = phase.sweep.position + content.count
        var edits: [ListEdit] = []
        if !walk.isSame { edits = walk.edits(sighting, list) }
        edits.append(.verify(phase.sweep.position - min(overlap, 1)..<after))
        counts.count(isSame: walk.isSame)
        if let total = list.record.total.exactCount, after > total { edits.append(.setTotal(.estimate(after))) }
        if let recheck = phase.recheck { return try await laid(page, sighting, edits, of: recheck.range, list) }
        // A reached total does not prove the end in a sweep. The next request shows it.
        let isShort =
            page.total.exactCount == nil && page.hasMore == nil && list.record.end == after
            && page.content.count < question(phase.sweep.position).count
        if page.hasMore == false || isShort { return try await endSweep(at: after, list, edits, page) }
        edits.append(.setEnd(walk.end(list)))
        edits.append(.setSweep(SweepProgress(position: after, startedAt: list.record.sweep?.startedAt ?? list.readAt)))
        guard try await commit(edits, [], list) else { return }
        passes.sweep.isRecorded = true
        announce(phase.sweep.position..<after, news: 0)
        // After a short page, the planned positions do not fit any more. The rest of a page on the grid arrives again.
        phase.sweep.position = after
        if after != aligned(after) || content.count < sweepStep { queue.clear() }
    }

    /// Whether an answer is shorter than requested although the list continues behind it: the origin says or counts so,
    /// or items are held or were returned behind it (R53).
    private func isShortInSweep(
        _ page: FetchedPage, _ start: Int, _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        let after = start + page.content.count
        guard page.content.count < question(phase.sweep.position).count, page.hasMore != false,
            list.record.window ?? .max > after
        else { return false }
        if page.hasMore == true { return true }
        if let total = page.knowing(list.record.total).total.exactCount { return after < total }
        if list.heldPages.contains(where: { $0.range.upperBound > after && $0.offset > start }) { return true }
        // Earlier items that come again show only that the origin repeats itself behind the end (R24).
        let behind = phase.sweep.answers.filter { $0.key > start }.flatMap { $0.value.content.identities.map(\.key) }
        guard !behind.isEmpty else { return false }
        let places = try await storage.locate(Set(behind), in: list.record.id)
        return behind.contains { places[$0].map { $0.position >= after } ?? true }
    }

    /// Whether another process has finished the sweep that this run only continues (R31).
    func isSweptByOthers(_ list: ListOutline) -> Bool {
        options.onlyFinishesSweeps && passes.sweep.isRecorded && list.record.sweep == nil
    }

    /// Whether the total is smaller than the number of items of page one, from an origin whose total was not wrong
    /// before. Such an origin is failing (R20).
    private func contradictsPageOne(_ total: Int) -> Bool {
        switch belief.pageOne.total {
        case .exact(let count): total < belief.pageOne.count && count >= belief.pageOne.count
        case .unknown: total < belief.pageOne.count
        case .estimate: false
        }
    }

    /// Ends the sweep at `position`. Held items behind it are removed only if the total confirms the end, or a second
    /// answer repeats it (R20).
    private func endSweep(
        at position: Int, _ list: ListOutline, _ edits: [ListEdit], _ page: FetchedPage
    ) async throws(StorageError) {
        if let window = list.record.window, window <= position, list.length > position {
            // The origin returns no items behind its result window, so held items there are kept.
            queue.clear()
            guard try await commit(edits + [.setWindow(position), .setSweep(nil)], [], list) else { return }
            phase.sweep.isDone = true
            return reconciled(.swept, list)
        }
        let lost = list.heldPages.filter { $0.range.upperBound > position }.reduce(0) { $0 + $1.count }
        let isCounted = page.total.exactCount == position && list.record.total.exactCount == position
        if lost > 0, !isCounted, !pass.witness.confirms(question(phase.sweep.position).lowerBound, end: position) {
            return askWitness(for: .sweep(question(phase.sweep.position)), end: position)
        }
        queue.clear()
        var ending: [ListEdit] = [.truncate(at: position), .setEnd(position), .setSweep(nil)]
        if let window = list.record.window, window < position { ending.append(.setWindow(nil)) }
        guard try await commit(edits + ending, [], list) else { return }
        phase.sweep.isDone = true
        try await takeBackRepeats()
        reconciled(.swept, list)
    }

    /// Applies an answer in a list with repeated ids. Each answer is stored at its position as it was sent (R25).
    private func layUnaligned(_ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        let start = question(phase.sweep.position).lowerBound
        let range = start..<start + page.content.count
        if range.upperBound <= phase.sweep.position {
            return try await endSweep(at: phase.sweep.position, list, [], page)
        }
        var edits: [ListEdit] = []
        let isSame = list.heldPages.contains { $0.range == range && $0.fingerprint == page.content.fingerprint }
        counts.count(isSame: isSame)
        if !isSame {
            edits = [
                .demote(range),
                .put(PageWrite(offset: start, content: page.content, evidence: .inferred, validator: page.validator)),
            ]
        }
        edits.append(.verify(range))
        let isShort = page.total.exactCount == nil && page.hasMore == nil && range.count < question(start).count
        if page.hasMore == false || isShort { return try await endSweep(at: range.upperBound, list, edits, page) }
        let startedAt = list.record.sweep?.startedAt ?? list.readAt
        edits.append(.setSweep(SweepProgress(position: range.upperBound, startedAt: startedAt)))
        guard try await commit(edits, [], list) else { return }
        passes.sweep.isRecorded = true
        phase.sweep.position = range.upperBound
        if range.upperBound != aligned(range.upperBound) { queue.clear() }
    }

    /// Removes the mark of repeated ids after a sweep. The storage refuses this while ids still repeat (R25).
    private func takeBackRepeats() async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query), list.record.allowsDuplicates else { return }
        _ = try await apply(
            CommitPlan(query: query, version: list.record.version, edits: [.setAllowsDuplicates(false)]))
    }

    /// Handles a list that moved during the sweep, or differs from the swept one. Page one is fetched again. The sweep
    /// continues at the position that the storage has set it back to. After two failures at one position, it starts
    /// again (R31).
    func listMovedInSweep(_ list: ListOutline, _ sighting: ObservedPage? = nil) async throws(StorageError) {
        if passes.sweep.failed(at: phase.sweep.position) {
            _ = try await commit([.setSweep(nil)], [], list)
        }
        if let sighting,
            belief.isShiftedAgain(sighting.content.shifts(at: sighting.offset, sighting.placesByKey), source.access)
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
            queue.add([.follow(cursor, offset: start.position)])
            let ending = try await drive()
            if ending != .drained || pass.mustRestart { return ending }
        }
        guard let query, let list = try await storage.outline(of: query) else { return .drained }
        guard phase == .sweepingChain(isAtEnd: true), list.isComplete || list.isAtWindow else {
            // A chain is swept only once the walk has reached its end (R23).
            return .drained
        }
        if try await commit([.setSweep(nil)], [], list) {
            try await takeBackRepeats()
            if let list = try await storage.outline(of: list.record.id) { try await takeBackHiding(list) }
            reconciled(.swept, list)
        }
        return .drained
    }
}
