import Synchronization

/// Delivers notices to observers, each at its own pace.
///
/// State: the observers by number, the observers of each query, and a change counter for each column of queries. One
/// mutex guards all of it, and is never held while foreign code runs. An observer's entry is removed with its stream.
public final class ChangeBroadcaster: Sendable {
    /// The number of columns that queries are distributed over. Changes are counted and announced to other processes by
    /// column, so that no query needs an entry of its own.
    public static let columns = 256

    /// The column of a query, in `0..<columns`. Several queries share a column. A change to one of them can make
    /// observers of the others read again without need.
    public static func column(of query: QueryID) -> Int { Int(UInt64(bitPattern: query.rawValue) % UInt64(columns)) }

    fileprivate struct Observer {
        var interest: Interest
        var pending: [StorageNotice] = []
        var waiter: CheckedContinuation<StorageNotice?, Never>?
        var isClosed = false
    }

    fileprivate enum Interest {
        /// One fixed query; `nil` means every query.
        case only(QueryID?)
        /// A set of queries that changes over time.
        case several
    }

    private struct State {
        var observers: [Int: Observer] = [:]
        var audience = SubscriberTable()
        var nextNumber = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// A broadcaster without observers.
    /// - Parameter capacity: the largest number of notices kept for a slow observer. If there are more, all of them are
    ///   merged into one. Defaults to 256.
    public init(capacity: Int = 256) {
        self.capacity = capacity
    }

    deinit { close() }

    /// Returns a stream of notices from now on. It ends when the broadcaster closes or the stream is dropped.
    /// - Parameter query: the query to observe; `nil` means every query.
    public func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        notices(enter(.only(query)))
    }

    /// Returns a stream of notices for a set of queries that changes over time. It ends when the broadcaster closes or
    /// the stream is dropped.
    public func watch() -> StorageWatch {
        let registration = enter(.several)
        let number = registration.number
        return StorageWatch(
            notices: notices(registration),
            // An observer whose stream was dropped must not be registered again.
            subscribe: { [weak self] query in
                self?.state.withLock { if $0.observers[number] != nil { $0.audience.add(number, to: query) } }
            },
            unsubscribe: { [weak self] query in self?.state.withLock { $0.audience.remove(number, from: query) } })
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

    /// Returns a number that changes with each published change to the query and never returns to an earlier value. A
    /// change to another query of the same column changes the number, too. Read the number first and the query second:
    /// as long as the number stays the same, the read content is the stored content. Returns `nil` after `close`,
    /// because changes are no longer counted.
    public func changeCount(of query: QueryID) -> UInt64? {
        state.withLock { $0.isClosed ? nil : $0.audience.changeCount(of: query) }
    }

    /// Notifies the observers of each set's query, and the observers of all queries.
    public func publish(_ sets: [ChangeSet]) {
        deliver(sets.lazy.map { (query: $0.query, notice: .changed($0)) })
    }

    /// Notifies observers that another process may have changed the queries in these columns.
    /// - Parameters:
    ///   - known: the queries in these columns, as far as the caller knows them. The notice to the observers of all
    ///     queries names these queries.
    ///   - columns: the columns with changes.
    public func publishElsewhere(known: [QueryID], columns: Set<Int>) {
        let (observed, observesAll) = state.withLock { state in
            state.audience.changed(columns: columns)
            return (state.audience.queries, state.audience.observesAll)
        }
        var notices = observed.filter { columns.contains(ChangeBroadcaster.column(of: $0)) }
            .map { (query: Optional($0), notice: StorageNotice.invalidated([$0])) }
        if observesAll { notices.append((query: nil, notice: .invalidated(known))) }
        deliver(notices, exactly: true)
    }

    /// Raises the change counts of the queries in these columns. No observer is notified.
    public func countChanges(in columns: Set<Int>) {
        state.withLock { $0.audience.changed(columns: columns) }
    }

    /// The queries that have an observer of their own.
    public var observedQueries: Set<QueryID> {
        state.withLock { Set($0.audience.queries) }
    }

    /// Whether the broadcaster has any observer.
    public var hasObservers: Bool { state.withLock { !$0.observers.isEmpty } }

    /// Ends every stream, including streams that are requested later. A stream ends after its pending notices.
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

    /// Removes an observer's entry when its stream is dropped.
    private final class Registration: Sendable {
        weak let hub: ChangeBroadcaster?
        let number: Int

        init(hub: ChangeBroadcaster, number: Int) {
            self.hub = hub
            self.number = number
        }

        func end() { hub?.remove(number) }
        deinit { end() }
    }
}

extension ChangeBroadcaster.Observer {
    /// Merges the pending notices of a slow observer into one notice that names their queries.
    fileprivate mutating func fold(beyond capacity: Int) {
        guard pending.count > capacity else { return }
        var queries: Set<QueryID> = []
        for notice in pending {
            switch notice {
            case .changed(let set): queries.insert(set.query)
            case .invalidated(let some): queries.formUnion(some)
            }
        }
        pending = [.invalidated(queries.sorted { $0.rawValue < $1.rawValue })]
    }
}
