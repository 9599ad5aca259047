import Synchronization

/// Hands notices to observers, each at its own pace.
///
/// State: the observers by number, and for each query who observes it; all of it under one mutex, which is never held
/// while anybody's code runs. An observer's entry dies with its stream.
public final class NoticeHub: Sendable {
    fileprivate struct Observer {
        /// Nil observes every query.
        var query: QueryID?
        var pending: [StorageNotice] = []
        var waiter: CheckedContinuation<StorageNotice?, Never>?
        var isClosed = false
    }

    private struct State {
        var observers: [Int: Observer] = [:]
        /// Who observes which query; under nil, who observes all of them.
        var audience: [QueryID?: Set<Int>] = [:]
        var nextNumber = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// - Parameter capacity: notices kept for an observer that does not listen; more are folded into one. Default: 256.
    public init(capacity: Int = 256) {
        self.capacity = capacity
    }

    deinit { close() }

    /// A stream of what happens from now on; ends when the hub closes or the stream is given up.
    public func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        let number = state.withLock { state -> Int in
            let number = state.nextNumber
            state.nextNumber += 1
            state.observers[number] = Observer(query: query, isClosed: state.isClosed)
            state.audience[query, default: []].insert(number)
            return number
        }
        let registration = Registration(hub: self, number: number)
        return AsyncStream(
            unfolding: { await registration.hub?.next(registration.number) ?? nil },
            onCancel: { registration.end() })
    }

    /// Tells the observers of each set's query, and those who observe everything.
    public func publish(_ sets: [ChangeSet]) {
        deliver(sets.map { (query: $0.query, notice: .changed($0)) })
    }

    /// Tells the observers of queries that `mayConcern` picks that they may have changed; those who observe everything
    /// are told `known`.
    public func publishElsewhere(known: [QueryID], mayConcern: (QueryID) -> Bool) {
        let observed = state.withLock { Array($0.audience.keys) }
        var notices = observed.compactMap { $0 }.filter(mayConcern).map {
            (query: Optional($0), notice: StorageNotice.mayHaveChanged([$0]))
        }
        if observed.contains(nil) { notices.append((query: nil, notice: .mayHaveChanged(known))) }
        deliver(notices, exactly: true)
    }

    /// The queries that somebody observes by name.
    public var observedQueries: Set<QueryID> {
        state.withLock { Set($0.audience.keys.compactMap { $0 }) }
    }

    /// Whether anybody listens at all.
    public var hasObservers: Bool { state.withLock { !$0.observers.isEmpty } }

    /// Ends every stream, and those that are asked for later.
    public func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            var waiters: [CheckedContinuation<StorageNotice?, Never>] = []
            for number in state.observers.keys {
                state.observers[number]?.isClosed = true
                if let waiter = state.observers[number]?.waiter { waiters.append(waiter) }
                state.observers[number]?.waiter = nil
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    private func deliver(_ notices: [(query: QueryID?, notice: StorageNotice)], exactly: Bool = false) {
        var woken: [(CheckedContinuation<StorageNotice?, Never>, StorageNotice)] = []
        state.withLock { state in
            for (query, notice) in notices {
                var audience = state.audience[query] ?? []
                if !exactly { audience.formUnion(state.audience[nil] ?? []) }
                for number in audience {
                    if let waiter = state.observers[number]?.waiter {
                        state.observers[number]?.waiter = nil
                        woken.append((waiter, notice))
                    } else {
                        state.observers[number]?.pending.append(notice)
                        state.observers[number]?.fold(beyond: capacity)
                    }
                }
            }
        }
        for (waiter, notice) in woken { waiter.resume(returning: notice) }
    }

    private func next(_ number: Int) async -> StorageNotice? {
        await withCheckedContinuation { continuation in
            let ready: StorageNotice?? = state.withLock { state in
                guard var observer = state.observers[number], !observer.isClosed || !observer.pending.isEmpty else { return .some(nil) }
                guard observer.pending.isEmpty else {
                    let notice = observer.pending.removeFirst()
                    state.observers[number] = observer
                    return notice
                }
                observer.waiter = continuation
                state.observers[number] = observer
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    fileprivate func remove(_ number: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<StorageNotice?, Never>? in
            guard let observer = state.observers.removeValue(forKey: number) else { return nil }
            state.audience[observer.query]?.remove(number)
            if state.audience[observer.query]?.isEmpty ?? false { state.audience[observer.query] = nil }
            return observer.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// Ties an observer's entry to the life of its stream.
    private final class Registration: Sendable {
        weak let hub: NoticeHub?
        let number: Int

        init(hub: NoticeHub, number: Int) {
            self.hub = hub
            self.number = number
        }

        func end() { hub?.remove(number) }
        deinit { end() }
    }
}

extension NoticeHub.Observer {
    /// Too much for a slow observer: what it has not heard becomes one notice of where to look.
    fileprivate mutating func fold(beyond capacity: Int) {
        guard pending.count > capacity else { return }
        var queries: Set<QueryID> = []
        for notice in pending {
            switch notice {
            case .changed(let set): queries.insert(set.query)
            case .mayHaveChanged(let some): queries.formUnion(some)
            }
        }
        pending = [.mayHaveChanged(queries.sorted { $0.rawValue < $1.rawValue })]
    }
}
