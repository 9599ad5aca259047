import PageModel

// Pages that the origin forbids storing. They are shown and continued from memory, and never stored.
extension ListController {
    /// Shows an unstorable page that a run of this list has received. Earlier unstorable pages stay only if this page
    /// follows them.
    func wasServed(_ page: FetchedPage, at offset: Int, _ ticket: Int) async {
        guard let stored = try? await stored(), machine.isRunning(ticket) else { return }
        if offset == 0, unkept?.confirm(page, at: world.clock.now()) == true {
            // Page one is as it was, so the pages behind it stay.
            try? await rebuild()
            return
        }
        hasReplacedUnkept = offset == 0 && unkept?.pages.start == 0
        if offset == 0 || unkept?.pages.isFollowed(by: page, at: offset) != true {
            let start = offset == 0 ? 0 : stored.itemsEnd
            let pages = EphemeralPages(
                behind: start, access: source.access, loopGuard: world.options.sync.loopGuard,
                emptyPageLimit: world.options.sync.emptyPageLimit)
            // A page at another position is fetched again once the list is shown up to it.
            guard pages.isFollowed(by: page, at: offset) else { return }
            unkept = NoStoreList(pages, behind: stored, from: page, at: world.clock.now())
        }
        guard let range = try? take(page, at: offset) else { return }
        try? await rebuild(telling: range)
    }

    /// Removes the pages that were shown instead of the stored list, because page one is now stored or confirmed.
    func headWasStored() {
        if unkept?.pages.start == 0 { unkept = nil }
    }

    /// Returns the snapshot to show: the stored list, and the unstored pages as long as they fit.
    func shown(_ stored: ListSnapshot<Value>) -> ListSnapshot<Value> {
        guard let known = unkept else { return stored }
        guard let snapshot = known.laid(over: stored, skips: world.builder.skips, limit: world.builder.itemLimit) else {
            unkept = nil
            return stored
        }
        return snapshot
    }

    /// Fetches the page behind the unstored ones, or all further pages. Requests are sent here and not by a run,
    /// because no other process could use the answers (R30).
    /// - Returns: the number of new items. Returns nil when no unstored page is shown.
    func goOnUnkept(toTheEnd: Bool, _ ticket: Int) async throws -> Int? {
        guard unkept != nil else { return nil }
        // Another writer may have stored the following page, or another list.
        try await rebuild()
        guard let before = unkept?.pages.count else { return nil }
        repeat {
            guard let target = unkept?.pages.next, machine.isRunning(ticket) else { break }
            try Task.checkCancellation()
            try await askOn(target, ticket)
        } while toTheEnd
        return (unkept?.pages.count ?? before) - before
    }

    private func askOn(_ target: PageRequest.Target, _ ticket: Int) async throws {
        let limit = world.options.itemLimit
        guard current.itemsEnd < limit else {
            throw failed(
                FetchFailure(.limitExceeded, "no more than \(limit) items are held in memory", isRetryable: false))
        }
        let answer: PageAnswer
        do {
            answer = try await source.fetch(PageRequest(target, size: world.options.sync.pageSize))
        } catch {
            if Task.isCancelled { throw CancellationError() }
            // The failure of outdated work is not reported.
            guard machine.isRunning(ticket), unkept?.pages.next == target else { return }
            throw failed(
                FetchFailure(thrownBySource: error, keepsWords: world.options.sync.recordsErrorText))
        }
        // No item is appended after the list has become another one (R35).
        guard machine.isRunning(ticket), unkept?.pages.next == target else { return }
        switch answer {
        case .page(let page):
            let range = try take(page, at: nil)
            unkept?.attempts = 0
            try await rebuild(telling: range)
        case .pastEnd, .notFound:
            unkept?.pages.ended()
            try await rebuild()
        case .notModified:
            throw failed(
                FetchFailure(
                    .undecodable, "nothing has changed, says the origin, and was not asked", isRetryable: false))
        }
    }

    /// Appends the items of a page.
    /// - Returns: the positions of its new items, or nil without new items.
    private func take(_ page: FetchedPage, at offset: Int?) throws(ListFailure) -> Range<Int>? {
        guard let end = unkept?.pages.end, let step = unkept?.pages.take(page, at: offset) else { return nil }
        switch step {
        case .failed(let failure):
            throw failed(failure)
        case .news(let content):
            unkept?.append(world.builder.decode(content))
            return content.isEmpty ? nil : end..<end + content.count
        }
    }

    /// Returns a failure whose retry requests the same page (R37). The page has no ledger entry, so only this failure
    /// holds the time of the next attempt.
    private func failed(_ failure: FetchFailure) -> ListFailure {
        let attempt = (unkept?.attempts ?? 0) + 1
        unkept?.attempts = attempt
        let now = world.clock.now()
        let next = world.options.sync.retry.nextAttempt(
            after: failure, attempt: attempt, now: now, jitter: world.jitter())
        return ListFailure(.next, failure, nextAttemptAt: next, cause: source.cause)
    }

    /// Returns a snapshot of the stored list, without unstored pages.
    private func stored() async throws(StorageError) -> ListSnapshot<Value> {
        if query == nil { query = try await known() }
        guard let query, let built = try await world.builder.build(query), isOurs(built.record)
        else { return ListSnapshot() }
        return built.snapshot
    }
}
