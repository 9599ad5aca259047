import PageModel

/// R23: every page of the list once more, compared with what is held and mended where it differs. Its progress is kept
/// in the store, so that it goes on where it was.
extension SyncRun {
    /// Whether a sweep was asked for and has not come to its end in this run.
    var sweepOutstanding: Bool { reconciliation != .swept }

    /// Sweeps from where the last one stopped. Page one has just been confirmed.
    func sweep() async throws(StorageError) -> FetchQueue.Ending {
        guard let query, let list = try await storage.outline(of: query) else { return .drained }
        // Two that each go on with the other's sweep would sweep for ever.
        guard list.record.sweep != nil || sweeping.isBegun || !options.onlyFinishesSweeps else { return .drained }
        sweeping.isBegun = true
        sweeping.isRecorded = list.record.sweep != nil
        sweeping.answers.removeAll()
        switch source.access {
        case .single:
            return .drained
        case .chain:
            return try await sweepChain(list)
        case .offsets, .grid:
            break
        }
        let begun = list.record.sweep ?? SweepProgress(position: 0, startedAt: clock.now())
        sweeping.position = max(begun.position, aligned(pageOne.count))
        sweeping.isDone = false
        sweeping.version = list.record.version
        while !sweeping.isDone, !pass.mustRestart {
            // While the witness is not heard, the place in doubt is not asked for again.
            queue.add(pass.awaitsWitness == nil ? sweepPositions(list).map { .sweep(question($0)) } : [.head])
            let ending = try await drive()
            sweeping.answers.removeAll()
            if ending != .drained { return ending }
            if isElsewhere { await waitForOthers() }
            if headFailure != nil { return .drained }
        }
        return .drained
    }

    /// A position that the origin can be asked for, at or before this one.
    private func aligned(_ position: Int) -> Int {
        if case .grid(let size) = source.access { position / size * size } else { position }
    }

    /// One item is asked for again with each answer, where any offset can be asked for (R21).
    private var sweepOverlap: Int { if case .offsets = source.access, pageSize > 1 { 1 } else { 0 } }
    private var sweepStep: Int { if case .grid(let size) = source.access { size } else { pageSize - sweepOverlap } }

    /// What is asked for next, all at once: up to where the origin counts to, and no more than one place beyond.
    private func sweepPositions(_ list: ListOutline) -> [Int] {
        let step = sweepStep
        let positions = (0..<max(1, options.concurrency)).map { sweeping.position + $0 * step }
        guard let total = list.record.total.exactCount, total >= sweeping.position else { return positions }
        return positions.prefix(1) + positions.dropFirst().filter { $0 <= total }
    }

    private func question(_ position: Int) -> Range<Int> {
        // On a grid, what of the page has been swept already comes again.
        if case .grid(let size) = source.access { return aligned(position)..<aligned(position) + size }
        return max(0, position - sweepOverlap)..<position + sweepStep
    }

    /// An answer of a sweep. Answers are laid in one behind the other, in whatever order they come.
    func sweepArrived(_ answer: PageAnswer, _ range: Range<Int>) async throws(StorageError) {
        if case .page(let page) = answer {
            sweeping.answers[range.lowerBound] = page
        } else {
            sweeping.answers[range.lowerBound] = FetchedPage(content: PageContent())
        }
        while !sweeping.isDone, !pass.mustRestart,
            let page = sweeping.answers.removeValue(forKey: question(sweeping.position).lowerBound)
        {
            try await lay(page)
        }
    }

    private func lay(_ page: FetchedPage) async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query) else {
            // Purged: nothing more is to be laid in anywhere.
            queue.clear()
            return pass.mustRestart = true
        }
        if isSweptByOthers(list) {
            queue.clear()
            return sweeping.isDone = true
        }
        let start = question(sweeping.position).lowerBound
        if list.record.version != sweeping.version { return try await listMovedInSweep(list) }
        if list.record.allowsDuplicates { return try await layUnaligned(page, list) }
        if let now = page.total.exactCount, now != list.record.total.exactCount ?? now || contradictsPageOne(now) {
            return try await listMovedInSweep(list)
        }
        var sighting = try await sighting(page, at: start, query, isEnd: false, asked: start..<start)
        if sighting.repeatsItems { return try await listMovedInSweep(list) }
        var content = sighting.content
        let overlap = sweeping.position - start
        if overlap > 0, content.count > 0 {
            // R21: the item before is where it was, or something came or went before it.
            guard content.count >= overlap, sighting.places[overlap - 1]?.position == sweeping.position - 1 else {
                return try await listMovedInSweep(list)
            }
            content = content.slice(overlap..<content.count)
        }
        if content.isEmpty { return try await endSweep(at: sweeping.position, list, [], page) }
        let places = Dictionary(
            zip(sighting.identities, sighting.places).compactMap { identity, place in place.map { (identity.key, $0) }
            },
            uniquingKeysWith: { first, _ in first })
        sighting = Sighting(offset: sweeping.position, content: content, places: places, isEnd: false)
        let walk = Walk(sighting, at: sweeping.position, runs: list.coverage.runs, keepsHole: false)
        guard walk.position == sweeping.position else { return try await listMovedInSweep(list) }
        let after = sweeping.position + content.count
        var edits: [ListEdit] = []
        if !walk.isSame { edits = walk.edits(sighting, list) }
        edits.append(.verify(sweeping.position - min(overlap, 1)..<after))
        if walk.isSame { pagesUnchanged += 1 } else { pagesFetched += 1 }
        if let total = list.record.total.exactCount, after > total { edits.append(.setTotal(.estimate(after))) }
        // A sweep is the proof: that the origin counts no more is none, and what it asks next tells.
        let isShort =
            page.total.exactCount == nil && page.hasMore == nil
            && page.content.count < question(sweeping.position).count
        if page.hasMore == false || isShort { return try await endSweep(at: after, list, edits, page) }
        edits.append(.setEnd(walk.end(list)))
        edits.append(.setSweep(SweepProgress(position: after, startedAt: list.record.sweep?.startedAt ?? list.readAt)))
        guard try await commit(edits, [], list) else { return }
        sweeping.isRecorded = true
        announce(sweeping.position..<after, news: 0)
        // Where a page was shorter than its place on the grid, what is left of it comes again.
        sweeping.position = after
        if after != aligned(after) || content.count < sweepStep { queue.clear() }
    }

    /// Whoever only goes on with a sweep is done when another has come to its end (R31).
    func isSweptByOthers(_ list: ListOutline) -> Bool {
        options.onlyFinishesSweeps && sweeping.isRecorded && list.record.sweep == nil
    }

    /// Fewer items than page one has just brought, from an origin that is not known to count wrong: a bad minute (R20).
    private func contradictsPageOne(_ total: Int) -> Bool {
        switch pageOne.total {
        case .exact(let count): total < pageOne.count && count >= pageOne.count
        case .unknown: total < pageOne.count
        case .estimate: false
        }
    }

    /// The last answer: nothing is held behind it any more. One answer alone does not take much away (R20).
    private func endSweep(
        at position: Int, _ list: ListOutline, _ edits: [ListEdit], _ page: FetchedPage
    ) async throws(StorageError) {
        if let window = list.record.window, window <= position, list.length > position {
            // The origin returns nothing behind its result window: what is held there stays.
            queue.clear()
            guard try await commit(edits + [.setWindow(position), .setSweep(nil)], [], list) else { return }
            sweeping.isDone = true
            return reconciled(.swept, list)
        }
        let lost = list.heldPages.filter { $0.range.upperBound > position }.reduce(0) { $0 + $1.count }
        let isCounted = page.total.exactCount == position && list.record.total.exactCount == position
        if lost > 0, !isCounted, !isWitnessed(question(sweeping.position).lowerBound, end: position) {
            return askWitness(for: .sweep(question(sweeping.position)), end: position)
        }
        queue.clear()
        let ending: [ListEdit] = [.truncate(at: position), .setEnd(position), .setSweep(nil)]
        guard try await commit(edits + ending, [], list) else { return }
        sweeping.isDone = true
        try await takeBackRepeats()
        reconciled(.swept, list)
    }

    /// R25: ids repeat. Each answer takes its place as the origin sent it.
    private func layUnaligned(_ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        let start = question(sweeping.position).lowerBound
        let range = start..<start + page.content.count
        if range.upperBound <= sweeping.position { return try await endSweep(at: sweeping.position, list, [], page) }
        var edits: [ListEdit] = []
        let isSame = list.heldPages.contains { $0.range == range && $0.fingerprint == page.content.fingerprint }
        if isSame {
            pagesUnchanged += 1
        } else {
            pagesFetched += 1
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
        sweeping.isRecorded = true
        sweeping.position = range.upperBound
        if range.upperBound != aligned(range.upperBound) { queue.clear() }
    }

    /// R25: a sweep of a list whose ids repeated looks again. Where no id repeats any more, the flag is taken back.
    private func takeBackRepeats() async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query), list.record.allowsDuplicates else { return }
        _ = try await apply(
            CommitPlan(query: query, version: list.record.version, edits: [.setAllowsDuplicates(false)]))
    }

    /// The list moved during the sweep, or is not as it was swept: page one is fetched again. The sweep continues where
    /// the storage has set it back to, and from the start when it fails twice at one place (R31).
    private func listMovedInSweep(_ list: ListOutline) async throws(StorageError) {
        sweeping.failures[sweeping.position, default: 0] += 1
        if sweeping.failures[sweeping.position, default: 0] >= 2 {
            sweeping.failures = [:]
            _ = try await commit([.setSweep(nil)], [], list)
        }
        pass.mustRestart = true
        isSuspicious = true
        queue.clear()
    }

    private func sweepChain(_ list: ListOutline) async throws(StorageError) -> FetchQueue.Ending {
        var start = (position: pageOne.count, cursor: pageOne.next)
        if let progress = list.record.sweep, let cursor = progress.cursor, list.coverage.headEnd >= progress.position {
            start = (progress.position, cursor)
        }
        tailWalk = .whole
        sweeping.isChain = true
        sweeping.isAtEnd = pageOne.next == nil
        defer {
            sweeping.isChain = false
            tailWalk = nil
        }
        if let cursor = start.cursor {
            queue.add([.follow(cursor, offset: start.position)])
            let ending = try await drive()
            if ending != .drained || pass.mustRestart { return ending }
        }
        guard let query, let list = try await storage.outline(of: query) else { return .drained }
        guard sweeping.isAtEnd, list.isComplete || list.isAtWindow else {
            // R23: a chain is swept when the walk has come to its end.
            return .drained
        }
        if try await commit([.setSweep(nil)], [], list) {
            try await takeBackRepeats()
            reconciled(.swept, list)
        }
        return .drained
    }
}
