import PageModel
import PagedRepository
import StorageSupport
import Synchronization

/// A storage that remembers every state a list was in, so that what is shown of it can be held to that (R39).
///
/// Whatever changes a list is done, and looked at, before the next such call is.
///
/// State: the states so far, under a mutex; a lock that keeps changes apart.
final class WitnessedStorage: RelayedStorage {
    /// What a reader sees of a list at one moment.
    struct Sight: Hashable {
        var version: ListVersion
        var items: [[UInt8]]
        var total: Total
        var end: Int?
        var isLoaded: Bool

        var isAtEnd: Bool { isLoaded && end.map { items.count >= $0 } ?? false }
    }

    let storage: any PageStorage
    private let key: QueryKey
    private let lock = SerialLock()
    private struct State {
        var seen: Set<Sight> = []
        /// What could be read after the last change, by payload.
        var readable: Set<[UInt8]> = []
        /// What could be read once, and cannot be any more although nobody took it away.
        var lost: Set<[UInt8]> = []
        /// How often the list has come to its end.
        var closings = 0
        var isAtEnd = false
    }

    private let state = Mutex(State())

    init(_ storage: any PageStorage, key: QueryKey) {
        self.storage = storage
        self.key = key
    }

    /// How often the list has come to its end so far.
    func closings() async -> Int {
        await lock.run { state.withLock { $0.closings } }
    }

    /// Items that an origin which never changed made disappear (G6).
    var lost: [String] { state.withLock { $0.lost.map { String(decoding: $0, as: UTF8.self) }.sorted() } }

    /// Waits for the change under way: what it has done may be shown before it is written down here.
    func wasTrue(_ sight: Sight) async -> Bool {
        await lock.run { state.withLock { $0.seen.contains(sight) } }
    }

    /// The list as it is now; nil when there is none.
    func sight() async throws(StorageError) -> Sight? { try await look()?.sight }

    private func look() async throws(StorageError) -> (sight: Sight, readable: Set<[UInt8]>)? {
        guard let record = try await storage.query(key), let list = try await storage.outline(of: record.id),
            let window = try await storage.window(of: record.id, 0..<Total.largest)
        else { return nil }
        var items: [[UInt8]] = []
        var readable: Set<[UInt8]> = []
        for part in window.parts {
            let payloads = part.content.items.map(\.payload)
            readable.formUnion(payloads)
            if part.isHeld && part.offset == items.count { items += payloads }
        }
        let sight = Sight(
            version: list.record.version, items: items, total: list.record.total,
            end: list.record.end ?? list.record.total.exactCount, isLoaded: list.record.validatedAt != nil)
        return (sight, readable)
    }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        switch call {
        case .register, .commit: try await changing(takesAway: false, body)
        case .purge, .evict: try await changing(takesAway: true, body)
        // None of these is seen in a list.
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
            let sight = now?.sight
            state.withLock { state in
                if let sight { state.seen.insert(sight) }
                if !takesAway { state.lost.formUnion(state.readable.subtracting(now?.readable ?? [])) }
                state.readable = now?.readable ?? []
                let isAtEnd = sight?.isAtEnd ?? false
                if isAtEnd, !state.isAtEnd { state.closings += 1 }
                state.isAtEnd = isAtEnd
            }
            return value
        }
    }
}
