import PageModel

// Pages that the origin forbids to keep: shown, gone on with from memory, and never stored.
extension ListController {
    /// A run of this list's own has met such a page. What was shown of others stays with it only where it follows them.
    func wasServed(_ page: FetchedPage, at offset: Int, _ ticket: Int) async {
        guard let stored = try? await stored(), machine.isRunning(ticket) else { return }
        if offset == 0 || unkept?.pages.isFollowed(by: page, at: offset) != true {
            let start = offset == 0 ? 0 : stored.items.count
            let pages = UnkeptPages(
                behind: start, access: source.access, loopGuard: world.options.sync.loopGuard,
                emptyPageLimit: world.options.sync.emptyPageLimit)
            // What lies elsewhere comes again, once the list is shown up to there.
            guard pages.isFollowed(by: page, at: offset) else { return }
            unkept = UnkeptList(pages, behind: stored, at: world.clock.now())
        }
        guard let range = try? take(page, at: offset) else { return }
        try? await rebuild(telling: range)
    }

    /// Page one is stored, or was confirmed: what was shown in its stead is over.
    func headWasStored() {
        if unkept?.pages.start == 0 { unkept = nil }
    }

    /// What is shown of a list: what is stored of it, and what is not kept, for as long as that fits.
    func shown(_ stored: ListSnapshot<Value>) -> ListSnapshot<Value> {
        guard let known = unkept else { return stored }
        guard let snapshot = known.laid(over: stored) else {
            unkept = nil
            return stored
        }
        return snapshot
    }

    /// The page behind those that are not kept, or all of them: asked for here, because no other process could use it
    /// (R30).
    /// - Returns: how many new items came; nil when nothing that is shown is unkept.
    func goOnUnkept(toTheEnd: Bool, _ ticket: Int) async throws -> Int? {
        guard unkept != nil else { return nil }
        // Somebody may have stored what follows, or another list.
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
        guard current.items.count < limit else {
            throw failed(FetchFailure(.hostile, "no more than \(limit) items are held in memory", isRetryable: false))
        }
        let answer: PageAnswer
        do {
            answer = try await source.fetch(PageRequest(target, size: world.options.sync.pageSize))
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            // Whoever has won meanwhile is not told of it.
            guard machine.isRunning(ticket), unkept?.pages.next == target else { return }
            throw failed(error as? FetchFailure ?? FetchFailure(.transport, "the source failed", isRetryable: true))
        }
        // R35: nothing is appended to what has become another list.
        guard machine.isRunning(ticket), unkept?.pages.next == target else { return }
        switch answer {
        case .page(let page):
            let range = try take(page, at: nil)
            unkept?.attempts = 0
            try await rebuild(telling: range)
        case .pastEnd:
            unkept?.pages.ended()
            try await rebuild()
        case .notModified:
            throw failed(
                FetchFailure(
                    .undecodable, "nothing has changed, says the origin, and was not asked", isRetryable: false))
        }
    }

    /// - Returns: the positions of its new items.
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

    /// R37: the retry asks for the same page. Nothing of it is in the ledger, so the moment of the next attempt is only
    /// here.
    private func failed(_ failure: FetchFailure) -> ListFailure {
        let attempt = (unkept?.attempts ?? 0) + 1
        unkept?.attempts = attempt
        let now = world.clock.now()
        let next = world.options.sync.retry.nextAttempt(
            after: failure, attempt: attempt, now: now, chance: world.chance())
        return ListFailure(.next, failure, nextAttemptAt: next, cause: source.cause)
    }

    /// What is stored of the list, as a snapshot of its own.
    private func stored() async throws(StorageError) -> ListSnapshot<Value> {
        if query == nil { query = try await known() }
        guard let query, let built = try await world.builder.build(query), isOurs(built.record)
        else { return ListSnapshot() }
        return built.snapshot
    }
}
