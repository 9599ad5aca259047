import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@Suite("Reported actions of a run")
struct SyncActionTests {
    private let clock = ManualClock()
    private let storage: MemoryStorage
    private let origin: ListOrigin
    private let key = QueryKey("list")

    init() {
        storage = MemoryStorage(clock: clock)
        origin = ListOrigin(names(0..<200), size: 50)
    }

    /// Runs once, and returns the lines of the reported actions.
    private func run(_ change: (inout SyncOptions) -> Void = { _ in }) async throws -> [String] {
        var options = SyncOptions()
        change(&options)
        let lines = Mutex<[String]>([])
        let sync = ListSync(
            storage: storage, source: origin, key: key, options: options, clock: clock, jitter: { 0.5 })
        _ = try await sync.run { event in
            if case .acted(let action, let result) = event { lines.withLock { $0.append("\(action) → \(result)") } }
        }
        return lines.withLock { $0 }
    }

    @Test("Without the option, a run reports no action")
    func none() async throws {
        #expect(try await run().isEmpty)
    }

    @Test("An insert at the head is noticed by one request, located, and committed as one rearrangement")
    func insert() async throws {
        _ = try await run()
        origin.names.insert("new", at: 0)
        let lines = try await run { $0.reportsActions = true }
        let kinds = lines.map { String($0.prefix { $0 != "→" }.dropLast()) }
        #expect(kinds.filter { $0.hasPrefix("fetch") } == ["fetch page one"])
        #expect(lines.contains("receive the answer for 0 → 50 items, total exact(201)"))
        #expect(lines.contains("locate 50 items → 49 held"))
        let commits = kinds.filter { $0.hasPrefix("commit") }
        #expect(commits.count == 1 && commits[0].contains("rearrange to"), "\(lines)")
        // The actions are in the order of their effects.
        let order = ["read the state", "lease the page at 0", "fetch", "receive", "locate", "commit"]
        let places = order.map { word in kinds.firstIndex { $0.hasPrefix(word) } }
        #expect(places.compactMap(\.self) == places.compactMap(\.self).sorted() && !places.contains(nil), "\(lines)")
    }
}
