import PageModel

/// Fetches the missing items of one window of a list, for `ListRepository.page`.
struct WindowFetch<Value: Sendable>: Sendable {
    /// The result of a fetch.
    enum Ending: Sendable {
        /// The run has ended, and the window was read afterwards. `window` is nil when the list is not stored.
        case ended(SyncReport, window: ItemWindow<Value>?)
        /// A reset of the list has superseded the fetch.
        case restarted
        /// The list was removed, and must not be stored again.
        case removed
    }

    private let context: RepositoryContext<Value>
    private let source: RememberingSource
    private let call: SourceCall
    private let key: QueryKey
    private let range: Range<Int>

    init(_ context: RepositoryContext<Value>, _ source: any PageSource, _ key: QueryKey, _ range: Range<Int>) {
        self.context = context
        call = SourceCall(context.storage, key)
        self.source = RememberingSource(
            context.options.isEphemeral ? EphemeralSource(source: source) : source, for: call)
        self.key = key
        self.range = range
    }

    /// Fetches the window once, and reads it.
    /// - Parameters:
    ///   - refreshesPageOne: whether page one is fetched first.
    ///   - read: returns the stored window.
    /// - Throws: `ListFailure` when the caller runs within a call of the list's own source. `ListFailure` also when a
    ///   page that must not be stored cannot be fetched, and no page of the window was received. `StorageError` when
    ///   the storage fails. `CancellationError` when the caller's task is cancelled while such a page is fetched.
    func run(
        refreshesPageOne: Bool, _ read: @escaping @Sendable () async throws -> ItemWindow<Value>?
    ) async throws -> Ending {
        try call.refuseWithin(.next)
        let task = Task(executorPreference: context.executor) { () async -> Result<Ending, any Error> in
            do { return .success(try await fetch(refreshesPageOne, read)) } catch { return .failure(error) }
        }
        // The list may be removed at any time before the window is read.
        let entry = context.runs.enter(key) { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        let ending = context.runs.leave(entry)
        if ending == .revoked { return .removed }
        if case .removed = try result.get(), ending == .restarted { return .restarted }
        return try result.get()
    }

    private func fetch(
        _ refreshesPageOne: Bool, _ read: @Sendable () async throws -> ItemWindow<Value>?
    ) async throws -> Ending {
        let served = ServedPages()
        var report: SyncReport?
        if refreshesPageOne { report = try await sync(.refresh, served) }
        // When page one must not be stored, pages after it cannot be stored either.
        if report.map({ $0.pagesNotStored == 0 && $0.outcome != .purged }) ?? true {
            report = try await sync(.positions(range), served)
        }
        guard let report, report.outcome != .purged else { return .removed }
        let bound = report.pagesNotStored > 0 ? try await fetchUnstored(served) : nil
        let window = try await read()
        if !served.all.isEmpty {
            return .ended(
                report,
                window: context.builder.merged(served.all, over: window ?? ItemWindow(range: range), bound: bound))
        }
        let hasFailed = report.headFailure != nil || !report.failures.isEmpty || report.outcome == .offline
        return window == nil && !hasFailed && !Task.isCancelled ? .removed : .ended(report, window: window)
    }

    private func sync(_ work: SyncOptions.Work, _ served: ServedPages) async throws(StorageError) -> SyncReport {
        var options = context.options.sync
        options.work = work
        let sync = ListSync(
            storage: context.storage, source: source, key: key, options: options, clock: context.clock,
            jitter: context.jitter, logger: context.logger)
        return try await sync.run { served.note($0) }
    }

    // MARK: Pages that must not be stored

    /// Fetches the positions of the window that the answers have not covered. The requests are sent without a run and
    /// without leases, because no other process could use the answers (R30). Pages by position are requested from the
    /// first missing position on. A chain is followed from page one.
    /// - Returns: a position at and after which the list has no item, if the answers show one.
    private func fetchUnstored(_ served: ServedPages) async throws -> Int? {
        guard source.access.supportsRandomAccess else { return try await followChain(served) }
        var (requests, restarts) = (0, 0)
        while let place = firstMissing(served.all), requests < context.options.sync.pagesPerQuery {
            let end = end(of: served.all)
            guard place < end ?? total(of: served.all) ?? .max else { return end }
            requests += 1
            let offset = start(of: place)
            switch try await answer(to: offset == 0 ? .first : .offset(offset), served) {
            case .page(let page):
                // The window is read again if the list has changed meanwhile (R15). Answers that contradict each other
                // after that are those of an unsteady origin.
                if restarts < WindowFetch.mostRestarts, served.contradict(page, at: offset) {
                    restarts += 1
                    served.restart()
                    continue
                }
                served.note(.notStored(offset: offset, page))
                // Another request for this position would return the same answer.
                if page.content.isEmpty, source.access == .offsets { return self.end(of: served.all) }
            case .pastEnd, .notFound: return offset > 0 ? offset : nil
            case .notModified, nil: return nil
            }
        }
        return end(of: served.all)
    }

    private static var mostRestarts: Int { 2 }

    private func followChain(_ served: ServedPages) async throws -> Int? {
        guard source.access == .chain, let head = served.all.first(where: { $0.offset == 0 }) else {
            return end(of: served.all)
        }
        var chain = EphemeralPages(
            behind: 0, access: source.access, loopGuard: context.options.sync.loopGuard,
            emptyPageLimit: context.options.sync.emptyPageLimit, tolerated: ToleratedMismatches(allowsAll: true))
        _ = chain.take(head.page)
        var requests = 0
        while let target = chain.next, firstMissing(served.all) != nil, requests < context.options.sync.pagesPerQuery {
            requests += 1
            guard case .page(var page) = try await answer(to: target, served) else { return nil }
            let offset = chain.end
            guard case .newItems(let content) = chain.take(page) else { return nil }
            page.content = content
            served.note(.notStored(offset: offset, page))
        }
        return chain.isAtEnd ? chain.end : nil
    }

    /// Returns the origin's answer. Returns nil when the request fails after a part of the window was received.
    private func answer(to target: PageRequest.Target, _ served: ServedPages) async throws -> PageAnswer? {
        try Task.checkCancellation()
        do {
            let answer = try await source.fetch(PageRequest(target, size: context.options.sync.pageSize))
            if case .offset(let place) = target, answer.refusesPosition, place < total(of: served.all) ?? 0 {
                throw FetchFailure.refused(by: answer)
            }
            return answer
        } catch {
            if Task.isCancelled { throw CancellationError() }
            // The items that were received are a window with missing positions.
            guard !served.all.contains(where: { $0.range.overlaps(range) }) else { return nil }
            throw ListFailure(
                .next, FetchFailure(thrownBySource: error, keepsWords: context.options.sync.recordsErrorText),
                cause: source.cause)
        }
    }

    private func total(of served: [ServedPages.Served]) -> Int? { served.compactMap(\.page.total.exactCount).last }

    /// Returns the end of the list as the last of these pages shows it (R24). Returns nil when that page shows no end.
    private func end(of served: [ServedPages.Served]) -> Int? {
        guard let last = served.max(by: { $0.offset < $1.offset }) else { return nil }
        let full = last.offset > 0 ? source.fullPageOfGrid : nil
        let ending = EndOfList.decide(last.page, at: last.offset, full: full, access: source.access)
        if case .end(let end) = ending { return end }
        return nil
    }

    /// Returns the first position of the origin's page that contains this position.
    private func start(of place: Int) -> Int {
        if case .grid(let size) = source.access { place / max(size, 1) * max(size, 1) } else { place }
    }

    private func firstMissing(_ served: [ServedPages.Served]) -> Int? {
        var position = range.lowerBound
        for page in served.map(requested).sorted(by: { $0.lowerBound < $1.lowerBound }) where page.contains(position) {
            position = page.upperBound
        }
        return position < range.upperBound ? position : nil
    }

    /// Returns the positions that need no further request after an answer. For an origin with page numbers, these are
    /// all positions of the page, because a short page has no further items.
    private func requested(_ page: ServedPages.Served) -> Range<Int> {
        guard case .grid(let size) = source.access else { return page.range }
        return page.offset..<max(page.range.upperBound, start(of: page.offset) + max(size, 1))
    }
}
