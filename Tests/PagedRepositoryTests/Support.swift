import Foundation
import PageModel
import PageStore
import PagedRepository
import Synchronization
import Testing

/// Compares two values. `#expect` does not accept a call that mutates its receiver.
func equal<Value: Equatable>(
    _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, sourceLocation: sourceLocation)
}

extension SyncEngine {
    /// Runs the engine until `condition` holds, and then stops it.
    func run(until condition: () async throws -> Bool) async throws {
        let running = Task { try await run() }
        while try await !condition() { await Task.yield() }
        running.cancel()
        try await running.value
    }
}

func named(_ names: some Sequence<String>) -> PageContent {
    PageContent(names.map { RawItem(payload: Array(#"{"id":"\#($0)"}"#.utf8), id: $0) })
}

func named(_ range: Range<Int>) -> PageContent { named(names(range)) }

func names(_ range: Range<Int>) -> [String] { range.map { "i\($0)" } }

/// A list of an origin in memory, which answers at once by offset, page number or cursor. The test's closure `before`
/// runs first.
final class ListOrigin: PageSource, PromptSource {
    struct State {
        var names: [String]
        var requests: [PageRequest] = []
        var access: PagingAccess
        var size: Int
        /// Returns the total for a number of items. `nil` means that the origin gives no total.
        var total: (@Sendable (Int) -> ListTotal)? = { .exact($0) }
        /// Items that answers leave out, although pages are cut as if they were there (R53).
        var hidden: Set<String> = []
        /// Whether each answer begins its page with another item, and puts the items before that one at the end.
        var reorders = false
        /// Whether the cursors of a chain name positions, and not items.
        var countsPositions = false
        /// Runs before each answer with the number of the request. The closure may change the list, or throw.
        var before: (@Sendable (Int, inout [String]) throws -> Void)?
    }

    let state: Mutex<State>

    init(_ names: [String], access: PagingAccess = .offsets, size: Int = 10) {
        state = Mutex(State(names: names, access: access, size: size))
    }

    var access: PagingAccess { state.withLock { $0.access } }
    var usage: SourceUsage { SourceUsage(requests: state.withLock { $0.requests.count }) }
    var requests: [PageRequest] { state.withLock { $0.requests } }
    var names: [String] {
        get { state.withLock { $0.names } }
        set { state.withLock { $0.names = newValue } }
    }

    func before(_ body: (@Sendable (Int, inout [String]) throws -> Void)?) { state.withLock { $0.before = body } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        try state.withLock { state in
            state.requests.append(request)
            try state.before?(state.requests.count, &state.names)
            let start: Int
            switch request.target {
            case .first: start = 0
            case .offset(let offset): start = offset
            case .cursor(let cursor) where state.countsPositions: start = Int(cursor.text) ?? 0
            // A keyset: the answer continues after the last item.
            case .cursor(let cursor): start = (state.names.firstIndex(of: cursor.text) ?? state.names.count - 1) + 1
            }
            let range = min(start, state.names.count)..<min(start + state.size, state.names.count)
            let isChain = state.access == .chain
            var shown = state.names[range].filter { !state.hidden.contains($0) }
            if state.reorders, !shown.isEmpty {
                let first = state.requests.count % shown.count
                shown = Array(shown[first...] + shown[..<first])
            }
            return .page(
                FetchedPage(
                    content: named(shown),
                    total: state.total?(state.names.count) ?? .unknown,
                    next: isChain && range.upperBound < state.names.count
                        ? state.names[range].last.map {
                            PageCursor(state.countsPositions ? "\(range.upperBound)" : $0)
                        } : nil))
        }
    }
}

/// A store on disk with one list, for runs against an origin.
final class SyncBench: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("pagecache-test-\(UUID().uuidString)").path
    let store: SQLitePageStore
    let key = QueryKey("list")

    /// - Parameter clock: The clock of the store. A test with its own clock passes that clock.
    init(_ clock: any StorageClock = SystemStorageClock()) async throws {
        store = try await SQLitePageStore.open(at: "\(path)/store.sqlite", mode: .createIfMissing, clock: clock)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Makes a run on the list.
    func sync(
        _ origin: any PageSource, _ clock: any SyncClock, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> SyncReport {
        var options = SyncOptions()
        change(&options)
        return try await ListSync(
            storage: store, source: origin, key: key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

    var list: ListOutline? {
        get async throws {
            guard let record = try await store.query(key) else { return nil }
            return try await store.outline(of: record.id)
        }
    }

    /// The ids of the held items by position, up to the last held position. `nil` marks a gap, or an item without an
    /// id.
    var held: [String?] {
        get async throws {
            guard let list = try await list else { return [] }
            var held = [String?](repeating: nil, count: list.coverage.segments.last?.upperBound ?? 0)
            for part in try await store.window(of: list.record.id, 0..<held.count)?.parts ?? [] where part.isHeld {
                for index in 0..<part.content.count { held[part.offset + index] = part.content.ids[index] }
            }
            return held
        }
    }
}

/// A body of JSON, for sources that decode their answers themselves.
struct JSONBody {
    let text: String

    init(_ text: String) { self.text = text }

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }
}
