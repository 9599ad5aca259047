import Synchronization

/// Hands notices to observers, each at its own pace.
///
/// State: the observers by number, for each query who observes it, and how often each column of queries has changed;
/// all of it under one mutex, which is never held while anybody's code runs. An observer's entry dies with its stream.
public final class NoticeHub: Sendable {
    /// How many columns queries fall into, where changes are counted and told to other processes without a place for
    /// each query.
    public static let columns = 256

    /// The column of a query, in `0..<columns`. Several queries share one; the others are looked at in vain.
    public static func column(of query: QueryID) -> Int { Int(UInt64(bitPattern: query.rawValue) % UInt64(columns)) }

    fileprivate struct Observer {
        var interest: Interest
        var pending: [StorageNotice] = []
        var waiter: CheckedContinuation<StorageNotice?, Never>?
        var isClosed = false
    }

    fileprivate enum Interest {
        /// This query for good; nil: every query.
        case only(QueryID?)
        /// Queries that come and go.
        case several
    }

    private struct State {
        var observers: [Int: Observer] = [:]
        var audience = NoticeAudience()
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
        notices(enter(.only(query)))
    }

    /// A stream of what happens to queries that come and go; ends when the hub closes or the stream is given up.
    public func watch() -> StorageWatch {
        let registration = enter(.several)
        let number = registration.number
        return StorageWatch(
            notices: notices(registration),
            // Whoever has given up the stream observes nothing any more.
            observe: { [weak self] query in
                self?.state.withLock { if $0.observers[number] != nil { $0.audience.add(number, to: query) } }
            },
            ignore: { [weak self] query in self?.state.withLock { $0.audience.remove(number, from: query) } })
    }

    private func enter(_ interest: Interest) -> Registration {
        let number = state.withLock { state -> Int in
            let number = state.nextNumber
            state.nextNumber += 1
            state.observers[number] = Observer(interest: interest, isClosed: state.isClosed)
            if case .only(let query) = interest { state.audience.add(number, to: query) }
            return number
        }
        return Registration(hub: self, number: number)
    }

    private func notices(_ registration: Registration) -> AsyncStream<StorageNotice> {
        AsyncStream(
            unfolding: { await registration.hub?.next(registration.number) ?? nil },
            onCancel: { registration.end() })
    }

    /// A number that is another one once a change to the query was told, and was never one before: whoever has read the
    /// query after asking for it has read what is stored for as long as it stays the same. Nil after `close`: then
    /// nobody counts.
    public func changeCount(of query: QueryID) -> UInt64? {
        state.withLock { $0.isClosed ? nil : $0.audience.changeCount(of: query) }
    }

    /// Tells the observers of each set's query, and those who observe everything.
    public func publish(_ sets: [ChangeSet]) {
        deliver(sets.lazy.map { (query: $0.query, notice: .changed($0)) })
    }

    /// Tells the observers of queries in these columns that they may have changed; those who observe everything are
    /// told `known`.
    public func publishElsewhere(known: [QueryID], columns: Set<Int>) {
        let (observed, observesAll) = state.withLock { state in
            state.audience.changed(columns: columns)
            return (state.audience.queries, state.audience.observesAll)
        }
        var notices = observed.filter { columns.contains(NoticeHub.column(of: $0)) }
            .map { (query: Optional($0), notice: StorageNotice.mayHaveChanged([$0])) }
        if observesAll { notices.append((query: nil, notice: .mayHaveChanged(known))) }
        deliver(notices, exactly: true)
    }

    /// The queries that somebody observes by name.
    public var observedQueries: Set<QueryID> {
        state.withLock { Set($0.audience.queries) }
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

    private func deliver(_ notices: some Sequence<(query: QueryID?, notice: StorageNotice)>, exactly: Bool = false) {
        var woken: [(CheckedContinuation<StorageNotice?, Never>, StorageNotice)] = []
        state.withLock { state in
            for (query, notice) in notices {
                for number in state.audience.changed(query, exactly: exactly) {
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
                guard var observer = state.observers[number], !observer.isClosed || !observer.pending.isEmpty else {
                    return .some(nil)
                }
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
            switch observer.interest {
            case .only(let query): state.audience.remove(number, from: query)
            case .several: state.audience.remove(number)
            }
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
