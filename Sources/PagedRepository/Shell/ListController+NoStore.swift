import PageModel

// Pages that the origin forbids storing. They are shown from memory, and the pages after them are fetched without a
// run.
extension ListController {
    /// Shows an unstorable page that a run of this list has received. Earlier unstorable pages stay only if this page
    /// follows them.
    func showUnstored(_ page: FetchedPage, at offset: Int, _ ticket: Int) async {
        guard let stored = try? await stored(), machine.isRunning(ticket) else { return }
        if offset == 0, unstored?.confirm(page, at: context.clock.now()) == true {
            // Page one has not changed, so the pages after it stay.
            try? await rebuild()
            return
        }
        hasReplacedUnstored = offset == 0 && unstored?.pages.start == 0
        let before = unstored
        var isFirst = false
        if offset == 0 || unstored?.pages.isFollowed(by: page, at: offset) != true {
            let start = offset == 0 ? 0 : stored.headEnd
            var pages = emptyPages(behind: start)
            // A page at another position is dropped, and fetched again once the list is shown up to that position.
            guard pages.isFollowed(by: page, at: offset) else { return }
            if start > 0 {
                pages = emptyPages(behind: start, stored: await end(of: stored, count: page.content.count))
                guard machine.isRunning(ticket) else { return }
            }
            unstored = NoStoreList(pages, behind: stored, from: page, at: context.clock.now())
            isFirst = true
        }
        switch unstored?.pages.take(page, at: offset) {
        case .newItems(let content): try? await rebuild(announcing: append(content))
        case .moved(let mismatch) where isFirst: (unstored, movedBehindStored) = (before, mismatch)
        case .moved, .failed, nil: return
        }
    }

    /// Returns the last items of the head segment of a stored list. Returns nil if these items cannot be read.
    /// - Parameter count: the number of items to read. A shorter head segment is read as a whole.
    private func end(of stored: ListSnapshot<Value>, count: Int) async -> StoredEnd? {
        let range = max(0, stored.headEnd - max(1, count))..<stored.headEnd
        guard let query, let window = try? await context.storage.window(of: query, range),
            window.record.version == stored.version
        else { return nil }
        var last = PageContent()
        for part in window.parts where part.isHeld { last.append(contentsOf: part.content) }
        guard last.count == range.count else { return nil }
        return StoredEnd(total: stored.total, last: last, allowsDuplicates: stored.allowsDuplicates)
    }

    private func emptyPages(
        behind start: Int, tolerated: ToleratedMismatches = ToleratedMismatches(), stored: StoredEnd? = nil
    ) -> EphemeralPages {
        let options = context.options.sync
        return EphemeralPages(
            behind: start, access: source.access, loopGuard: options.loopGuard, emptyPageLimit: options.emptyPageLimit,
            overlap: source.mayRepeatLast ? min(options.overlap, 1) : 0,
            requested: source.sizeOfRequest(options.pageSize), tolerated: tolerated, stored: stored)
    }

    /// Removes the pages that were shown instead of the stored list, because page one is now stored or confirmed.
    func removeUnstored() {
        if unstored?.pages.start == 0 { unstored = nil }
    }

    /// Returns the snapshot to show: the stored list, with the unstored pages as long as they fit to it.
    func shown(_ stored: ListSnapshot<Value>) -> ListSnapshot<Value> {
        guard let known = unstored else { return stored }
        guard let snapshot = known.merged(over: stored, skips: context.builder.skips, limit: context.builder.itemLimit)
        else {
            unstored = nil
            return stored
        }
        return snapshot
    }

    /// Fetches the page after the unstored pages, or all further pages. The requests are sent without a run and without
    /// leases, because no other process could use the answers (R30).
    /// - Returns: whether unstored pages are shown.
    func fetchUnstoredPages(toTheEnd: Bool, _ ticket: Int) async throws -> Bool {
        guard unstored != nil else { return false }
        // Another writer may have stored the following page, or another list.
        try await rebuild()
        guard let first = unstored?.pages.count else { return false }
        timesReadAgain = 0
        var answers = 0
        while let target = unstored?.pages.next, machine.isRunning(ticket), !current.isAtItemLimit {
            try Task.checkCancellation()
            try await fetchUnstored(target, ticket)
            guard !toTheEnd, let pages = unstored?.pages else { continue }
            if pages.count != first || pages.next == nil { break }
            answers += 1
            guard answers < EphemeralPages.mostEmptyAnswers else {
                throw failed(.withoutItems(pages: answers))
            }
        }
        if unstored?.pages.isCutShort == true, machine.isRunning(ticket), stop == nil, !current.isVoid,
            !current.isAtItemLimit
        {
            throw ListFailure(.next, .contradicted(isWhole: toTheEnd))
        }
        return true
    }

    private func fetchUnstored(_ target: PageRequest.Target, _ ticket: Int) async throws {
        guard let answer = try await answer(to: target, ticket) else { return }
        let step: EphemeralPages.Step?
        switch answer {
        case .page(let page):
            unstored?.attempts = 0
            step = unstored?.pages.take(page)
        case .pastEnd, .notFound: step = unstored?.pages.refused(answer)
        case .notModified: throw failed(.notModifiedUnasked)
        }
        switch step {
        case nil: return
        case .failed(let failure): throw failed(failure)
        case .moved(let mismatch): try await rereadUnstored(after: mismatch, ticket)
        case .newItems(let content): try await rebuild(announcing: append(content))
        }
    }

    /// Returns the origin's answer. Returns nil when the work is outdated, because the unstored pages have changed or
    /// the work was superseded (R35).
    private func answer(to target: PageRequest.Target, _ ticket: Int) async throws -> PageAnswer? {
        let before = unstored?.pages.next
        do {
            let answer = try await source.fetch(PageRequest(target, size: context.options.sync.pageSize))
            guard machine.isRunning(ticket), unstored?.pages.next == before else { return nil }
            return answer
        } catch {
            if Task.isCancelled { throw CancellationError() }
            // The failure of outdated work is not reported.
            guard machine.isRunning(ticket), unstored?.pages.next == before else { return nil }
            throw failed(FetchFailure(thrownBySource: error, keepsWords: context.options.sync.recordsErrorText))
        }
    }

    /// Appends the new items of a page.
    /// - Returns: the positions of the new items, or nil when the page has none.
    private func append(_ content: PageContent) -> Range<Int>? {
        unstored?.append(context.builder.decode(content))
        guard !content.isEmpty, let end = unstored?.pages.end else { return nil }
        return end - content.count..<end
    }

    /// Reads the list again from page one if the run that has ended has received an unstorable page that does not fit
    /// the stored ones before it.
    /// - Throws: `ListFailure` when the list keeps changing.
    func rereadMoved(_ ticket: Int) async throws {
        guard let mismatch = movedBehindStored, machine.isRunning(ticket) else { return }
        movedBehindStored = nil
        timesReadAgain = 0
        try await reread(past: current.headEnd, after: mismatch, ToleratedMismatches(), ticket)
    }

    /// Reads the list again from page one, because an answer did not fit the unstored pages.
    private func rereadUnstored(after mismatch: EphemeralMismatch, _ ticket: Int) async throws {
        guard let pages = unstored?.pages else { return }
        try await reread(past: pages.end, after: mismatch, pages.tolerated, ticket)
    }

    /// Reads the list again from page one, because an answer did not fit the items before it: the list has changed
    /// between two requests. The shown items stay until the new pages are complete. An answer that a second reading
    /// receives again shows no change. The third reading accepts inserts, because the list may grow with every request.
    /// - Parameters:
    ///   - count: the number of items that the new pages must exceed.
    ///   - known: the answers that earlier readings have received again.
    /// - Throws: `ListFailure` when the list keeps changing.
    private func reread(
        past count: Int, after mismatch: EphemeralMismatch, _ known: ToleratedMismatches, _ ticket: Int
    ) async throws {
        // The number is limited, because a list that grows faster than it is read has no end.
        timesReadAgain += 1
        guard timesReadAgain <= context.options.sync.restarts else { throw failed(.keptChanging) }
        var tolerated = known
        tolerated.known.insert(mismatch)
        for _ in 0..<3 {
            switch try await walk(past: count, tolerated, ticket) {
            case .outdated: return
            case .moved(let another):
                tolerated.allowsInserts = tolerated.known.count > known.known.count + 1
                tolerated.known.insert(another)
            case .whole(let list):
                unstored = list
                hasReplacedUnstored = true
                return try await rebuild()
            }
        }
        throw failed(.keptChanging)
    }

    /// Reads a list in memory again that has ended without an exact total: one wrong answer may have ended it (R24). The
    /// shown items stay if the list is the same.
    /// - Throws: `ListFailure` when a page cannot be fetched, or the list keeps changing.
    func readUnprovenEnd(_ ticket: Int) async throws {
        guard let pages = unstored?.pages, pages.start == 0, pages.isAtEnd, pages.total.exactCount == nil else {
            return
        }
        timesReadAgain = 0
        switch try await walk(past: .max, pages.tolerated, ticket) {
        case .outdated: return
        case .moved(let mismatch): try await rereadUnstored(after: mismatch, ticket)
        case .whole(let list):
            guard list.pages.keys != pages.keys, machine.isRunning(ticket) else { return }
            unstored = list
            hasReplacedUnstored = true
            try await rebuild()
        }
    }

    private enum Traversal {
        case whole(NoStoreList<Value>)
        case moved(EphemeralMismatch)
        case outdated
    }

    /// Reads pages from page one on, until more than `count` items are read.
    private func walk(past count: Int, _ tolerated: ToleratedMismatches, _ ticket: Int) async throws -> Traversal {
        let stored = try await stored()
        var pages = emptyPages(behind: 0, tolerated: tolerated)
        var list: NoStoreList<Value>?
        while let target = list == nil ? PageRequest.Target.first : pages.next, pages.count <= count,
            pages.end < context.builder.itemLimit || list == nil
        {
            try Task.checkCancellation()
            guard let answer = try await answer(to: target, ticket) else { return .outdated }
            let step: EphemeralPages.Step
            switch answer {
            case .page(let page):
                step = pages.take(page)
                if list == nil { list = NoStoreList(pages, behind: stored, from: page, at: context.clock.now()) }
            case .pastEnd, .notFound:
                guard list != nil else { throw failed(.noPageOne) }
                step = pages.refused(answer)
            case .notModified: throw failed(.notModifiedUnasked)
            }
            switch step {
            case .newItems(let content): list?.append(context.builder.decode(content))
            case .moved(let mismatch): return .moved(mismatch)
            case .failed(let failure): throw failed(failure)
            }
        }
        guard var list else { return .outdated }
        list.pages = pages
        return .whole(list)
    }

    /// Returns a failure whose retry requests the same page (R37). The page has no ledger entry, so only this failure
    /// has the time of the next attempt.
    private func failed(_ failure: FetchFailure) -> ListFailure {
        let attempt = (unstored?.attempts ?? 0) + 1
        unstored?.attempts = attempt
        let now = context.clock.now()
        let next = context.options.sync.retry.nextAttempt(
            after: failure, attempt: attempt, now: now, jitter: context.jitter())
        return ListFailure(.next, failure, nextAttemptAt: next, cause: source.cause)
    }

    /// Returns a snapshot of the stored list, without unstored pages.
    private func stored() async throws(StorageError) -> ListSnapshot<Value> {
        if query == nil { query = try await known() }
        guard let query, let built = try await context.builder.build(query, reusing: shownPages),
            isOurs(built.record)
        else { return ListSnapshot() }
        return built.snapshot
    }
}
