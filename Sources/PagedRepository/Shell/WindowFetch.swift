import PageModel

/// Fetches the missing items of one window of a list, for `ListRepository.page`.
struct WindowFetch<Value: Sendable>: Sendable {
    /// The result of a fetch.
    enum Ending: Sendable {
        /// The run has ended. `served` are the pages that the origin forbids storing.
        case ended(SyncReport, served: [ServedPages.Served])
        /// A reset of the list has superseded the fetch.
        case restarted
        /// The list was removed, and must not be stored again.
        case removed
    }

    private let world: RepositoryContext<Value>
    private let source: RememberingSource
    private let call: SourceCall
    private let key: QueryKey
    private let range: Range<Int>

    init(_ world: RepositoryContext<Value>, _ source: any PageSource, _ key: QueryKey, _ range: Range<Int>) {
        self.world = world
        call = SourceCall(world.storage, key)
        self.source = RememberingSource(
            world.options.isEphemeral ? EphemeralSource(source: source) : source, for: call)
        self.key = key
        self.range = range
    }

    /// Fetches the window once.
    /// - Parameter refreshesPageOne: whether page one is fetched first.
    /// - Throws: `ListFailure` within the list's own source, and for a page that must not be stored and cannot be
    ///   fetched, while no item of the window is known. `StorageError` when the storage fails.
    func run(refreshesPageOne: Bool) async throws -> Ending {
        let served = ServedPages()
        if refreshesPageOne {
            let head = try await run(.refresh, served)
            guard case .ended(let report, _) = head else { return head }
            // When page one must not be stored, pages behind it cannot be stored either.
            if report.pagesNotStored > 0 { return try await withUnstored(report, served) }
        }
        let ending = try await run(.positions(range), served)
        guard case .ended(let report, _) = ending, report.pagesNotStored > 0 else { return ending }
        return try await withUnstored(report, served)
    }

    private func run(_ work: SyncOptions.Work, _ served: ServedPages) async throws -> Ending {
        try call.refuseWithin(.next)
        var options = world.options.sync
        options.work = work
        let sync = ListSync(
            storage: world.storage, source: source, key: key, options: options, clock: world.clock,
            chance: world.chance, logger: world.logger)
        let task = Task(executorPreference: world.executor) { () async -> Result<SyncReport, StorageError> in
            do throws(StorageError) { return .success(try await sync.run { served.note($0) }) } catch {
                return .failure(error)
            }
        }
        let entry = world.runs.enter(key) { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        let ending = world.runs.leave(entry)
        if ending == .revoked { return .removed }
        let report = try result.get()
        guard report.outcome == .purged else { return .ended(report, served: served.all) }
        return ending == .restarted ? .restarted : .removed
    }

    // MARK: Pages that must not be stored

    /// Fetches the positions of the window that the answers have not covered. The requests are sent here and not by a
    /// run, because no other process could use the answers (R30). Pages by position are requested from the first missing
    /// position on. A chain is followed from page one.
    private func withUnstored(_ report: SyncReport, _ served: ServedPages) async throws -> Ending {
        var chain = EphemeralPages(
            behind: 0, access: source.access, loopGuard: world.options.sync.loopGuard,
            emptyPageLimit: world.options.sync.emptyPageLimit)
        if source.access == .chain, let head = served.all.first(where: { $0.offset == 0 }) { _ = chain.take(head.page) }
        var requests = 0
        while let target = target(behind: served.all) ?? chain.next, firstMissing(served.all) != nil,
            requests < world.options.sync.pagesPerQuery
        {
            requests += 1
            guard let page = try await page(target, served) else { break }
            if case .offset(let offset) = target {
                served.note(.notStored(offset: offset, page))
                if EndOfList.decide(page, at: offset, full: nil, access: source.access) != .more { break }
            } else {
                let offset = chain.end
                guard case .news = chain.take(page) else { break }
                served.note(.notStored(offset: offset, page))
            }
        }
        return .ended(report, served: served.all)
    }

    /// Returns a page from the origin, or nil when the origin has no items there.
    private func page(_ target: PageRequest.Target, _ served: ServedPages) async throws -> FetchedPage? {
        try Task.checkCancellation()
        do {
            let answer = try await source.fetch(PageRequest(target, size: world.options.sync.pageSize))
            guard case .page(let page) = answer, page.content.count > 0 || page.next != nil else { return nil }
            return page
        } catch {
            if Task.isCancelled { throw CancellationError() }
            // The items that were received are a window with missing positions.
            guard !served.all.contains(where: { $0.range.overlaps(range) }) else { return nil }
            throw ListFailure(
                .next, FetchFailure(thrownBySource: error, keepsWords: world.options.sync.recordsErrorText),
                cause: source.cause)
        }
    }

    /// Returns the request for the first position of the window that these pages do not cover. Returns nil for an origin
    /// that does not accept positions, and at the end of the list.
    private func target(behind served: [ServedPages.Served]) -> PageRequest.Target? {
        let total = served.compactMap(\.page.total.exactCount).last ?? .max
        guard let missing = firstMissing(served), missing < total else { return nil }
        switch source.access {
        case .offsets: return .offset(missing)
        case .grid(let size): return .offset(missing / max(size, 1) * max(size, 1))
        case .chain, .single: return nil
        }
    }

    private func firstMissing(_ served: [ServedPages.Served]) -> Int? {
        var position = range.lowerBound
        for page in served.map(\.range).sorted(by: { $0.lowerBound < $1.lowerBound }) where page.contains(position) {
            position = page.upperBound
        }
        return position < range.upperBound ? position : nil
    }
}
