import PageModel

/// Fetches the missing items of one window of a list, for `ListRepository.page`.
struct WindowFetch<Value: Sendable>: Sendable {
    /// The result of a fetch.
    enum Ending: Sendable {
        /// The run has ended, and the window was read afterwards. `window` is nil when no item of the list is known.
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
    /// - Throws: `ListFailure` when the caller is a part of the list's own source. `ListFailure` also when a page that
    ///   must not be stored cannot be fetched, and no page of the window was received. `StorageError` when the storage
    ///   fails. `CancellationError` when the caller's task is cancelled while such a page is fetched.
    func run(
        refreshesPageOne: Bool, _ read: @escaping @Sendable () async throws -> ItemWindow<Value>?
    ) async throws -> Ending {
        try call.refuseWithin(.next)
        let task = Task(executorPreference: context.executor) { () async -> Result<Ending, any Error> in
            do { return .success(try await fetch(refreshesPageOne, read)) } catch { return .failure(error) }
        }
        // The list may be removed until the window is read.
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
        // When page one must not be stored, pages behind it cannot be stored either.
        if report.map({ $0.pagesNotStored == 0 && $0.outcome != .purged }) ?? true {
            report = try await sync(.positions(range), served)
        }
        guard let report, report.outcome != .purged else { return .removed }
        if report.pagesNotStored > 0 { try await fetchUnstored(served) }
        let window = try await read()
        if !served.all.isEmpty {
            return .ended(report, window: context.builder.laid(served.all, over: window ?? ItemWindow(range: range)))
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

    /// Fetches the positions of the window that the answers have not covered. The requests are sent here and not by a
    /// run, because no other process could use the answers (R30). Pages by position are requested from the first missing
    /// position on. A chain is followed from page one.
    private func fetchUnstored(_ served: ServedPages) async throws {
        var chain = EphemeralPages(
            behind: 0, access: source.access, loopGuard: context.options.sync.loopGuard,
            emptyPageLimit: context.options.sync.emptyPageLimit, habits: EphemeralHabits(allowsAll: true))
        if source.access == .chain, let head = served.all.first(where: { $0.offset == 0 }) { _ = chain.take(head.page) }
        var requests = 0
        while let target = target(behind: served.all) ?? chain.next, firstMissing(served.all) != nil,
            requests < context.options.sync.pagesPerQuery
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
    }

    /// Returns a page from the origin, or nil when the origin has no items there.
    private func page(_ target: PageRequest.Target, _ served: ServedPages) async throws -> FetchedPage? {
        try Task.checkCancellation()
        do {
            let answer = try await source.fetch(PageRequest(target, size: context.options.sync.pageSize))
            guard case .page(let page) = answer, page.content.count > 0 || page.next != nil else { return nil }
            return page
        } catch {
            if Task.isCancelled { throw CancellationError() }
            // The items that were received are a window with missing positions.
            guard !served.all.contains(where: { $0.range.overlaps(range) }) else { return nil }
            throw ListFailure(
                .next, FetchFailure(thrownBySource: error, keepsWords: context.options.sync.recordsErrorText),
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
