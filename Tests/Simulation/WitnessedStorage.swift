import PageModel
import PagedRepository
import StorageSupport
import Synchronization

/// A storage that records every state of a list, so that a test can compare the shown states with them (R39).
///
/// Each changing call completes, and its result is recorded, before the next changing call begins.
///
/// State: the recorded states, under a mutex, and a lock that serializes the changes.
final class WitnessedStorage: RelayedStorage {
    /// The state of a list as a reader sees it at one moment.
    struct ObservedState: Hashable {
        var version: ListVersion
        var items: [[UInt8]]
        var total: ListTotal
        var end: Int?
        var isLoaded: Bool

        var isAtEnd: Bool { isLoaded && end.map { items.count >= $0 } ?? false }
    }

    let storage: any PageStorage
    private let key: QueryKey
    private let lock = SerialLock()
    private struct State {
        var seen: Set<ObservedState> = []
        /// The payloads that were readable after the last change.
        var readable: Set<[UInt8]> = []
        /// The payloads that became unreadable without a purge or an eviction.
        var lost: Set<[UInt8]> = []
        /// The number of times at which the list reached its end.
        var closings = 0
        var isAtEnd = false
    }

    private let state = Mutex(State())

    init(_ storage: any PageStorage, key: QueryKey) {
        self.storage = storage
        self.key = key
    }

    /// Returns how often the list has reached its end so far.
    func closings() async -> Int {
        await lock.run { state.withLock { $0.closings } }
    }

    /// The items that disappeared although the origin never changed (G6).
    var lost: [String] { state.withLock { $0.lost.map { String(decoding: $0, as: UTF8.self) }.sorted() } }

    /// Returns whether the list was ever in this state. Waits for a change under way, whose result may be shown before
    /// it is recorded.
    func wasTrue(_ observedState: ObservedState) async -> Bool {
        await lock.run { state.withLock { $0.seen.contains(observedState) } }
    }

    /// Returns the present state of the list. `nil` means that there is no list.
    func observedState() async throws(StorageError) -> ObservedState? { try await look()?.observedState }

    private func look() async throws(StorageError) -> (observedState: ObservedState, readable: Set<[UInt8]>)? {
        guard let record = try await storage.query(key), let list = try await storage.outline(of: record.id),
            let window = try await storage.window(of: record.id, 0..<ListTotal.largest)
        else { return nil }
        var items: [[UInt8]] = []
        var readable: Set<[UInt8]> = []
        for part in window.parts {
            let payloads = part.content.items.map(\.payload)
            readable.formUnion(payloads)
            if part.isHeld && part.offset == items.count { items += payloads }
        }
        // A snapshot shows no total below the number of held items, and no end before items that the origin counts. A
        // result window is not an end.
        let held = list.coverage.segments.last?.upperBound ?? 0
        let total = list.record.total.count.map { $0 < held } ?? false ? ListTotal.estimate(held) : list.record.total
        let isVoid = list.record.validatedAt != nil && held == 0 && total.count ?? 0 > 0 && list.gaps.isEmpty
        let cut = list.record.isCutOff ? list.record.resultWindow ?? .max : .max
        let end = list.record.end.flatMap { $0 < cut ? $0 : nil } ?? total.exactCount
        // A page that reaches the total may name a next one, which is not requested yet (R24).
        let namesNext = list.heldPages.first.map { $0.offset == 0 && $0.cursorOut != nil } ?? false
        let isOpen = namesNext && list.record.end == nil && end.map { $0 <= items.count } ?? false
        // A list that ends before its exact total was not read to its end since (R24).
        let isShort = !list.record.isCutOff && list.record.end.map { $0 < list.record.total.exactCount ?? 0 } ?? false
        let observedState = ObservedState(
            version: list.record.version, items: items, total: total, end: isVoid || isOpen || isShort ? nil : end,
            isLoaded: list.record.validatedAt != nil)
        return (observedState, readable)
    }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        switch call {
        case .register, .commit: try await changing(takesAway: false, body)
        case .purge, .evict: try await changing(takesAway: true, body)
        // None of these calls changes the visible state of a list.
        case .query, .state, .records, .summaries, .outline, .excerpt, .window, .list, .locate, .changes, .claim,
            .record, .heartbeat, .due,
            .setPinned:
            try await body()
        }
    }

    private func changing<Value: Sendable>(
        takesAway: Bool, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await lock.run { () async throws(StorageError) in
            let value = try await body()
            let now = try await look()
            let observedState = now?.observedState
            state.withLock { state in
                if let observedState { state.seen.insert(observedState) }
                if !takesAway { state.lost.formUnion(state.readable.subtracting(now?.readable ?? [])) }
                state.readable = now?.readable ?? []
                let isAtEnd = observedState?.isAtEnd ?? false
                if isAtEnd, !state.isAtEnd { state.closings += 1 }
                state.isAtEnd = isAtEnd
            }
            return value
        }
    }
}
