import Foundation
import PageModel
import PageStore

/// One of several processes on a store. It appends to a shared list, reads it back and takes leases. It also shifts and
/// purges its own lists. It records the acknowledged items and every violated rule.
final class Crowd {
    let store: SQLitePageStore
    let name: String
    let seconds: Double

    private var waits: [Double] = []
    private var violations: [String] = []
    private var acknowledged: [String] = []
    private var busy = 0
    private var leases = 0
    private var reads = 0

    init(store: SQLitePageStore, name: String, seconds: Double) {
        self.store = store
        self.name = name
        self.seconds = seconds
    }

    func run() async throws -> [String: Any] {
        let shared = try await store.register(QueryKey("shared")).id
        let own = try await store.register(QueryKey("own", scope: name)).id
        let end = Date().addingTimeInterval(seconds)
        var round = 0
        while Date() < end {
            do throws(StorageError) {
                try await append(to: shared, round)
                try await check(shared)
                try await lease(shared)
                if round % 5 == 0 { try await shift(own, round) }
                if round % 40 == 39 { _ = try await timed { () throws(StorageError) in try await store.purge([own]) } }
            } catch {
                if error.code == .busy { busy += 1 } else { violations.append("\(error.code): \(error.message)") }
            }
            round += 1
        }
        let sorted = waits.sorted()
        func percentile(_ share: Double) -> Double {
            sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
        return [
            "acknowledged": acknowledged, "violations": violations, "busy": busy, "leases": leases, "reads": reads,
            "writes": waits.count, "p50_ms": percentile(0.5), "p99_ms": percentile(0.99), "max_ms": sorted.last ?? 0,
        ]
    }

    /// Appends a page to the shared list, unless another process was faster.
    private func append(to query: QueryID, _ round: Int) async throws(StorageError) {
        guard let list = try await store.outline(of: query) else { return }
        let offset = list.coverage.headEnd
        let names = (0..<3).map { "\(name)-\(round)-\($0)" }
        let page = PageWrite(offset: offset, content: PageContent(names.map(Crowd.item)), evidence: .inferred)
        let plan = CommitPlan(
            query: query, version: list.record.version, edits: [.insertPage(page)], ledger: [.succeeded(offset: offset)]
        )
        let outcome = try await timed { () throws(StorageError) in try await store.commit(plan) }
        if case .committed = outcome { acknowledged += names }
    }

    /// Expects that every item matches its name, and that the list has no gaps.
    private func check(_ query: QueryID) async throws(StorageError) {
        guard let list = try await store.outline(of: query) else { return }
        let length = list.coverage.headEnd
        let lower = max(0, Int.random(in: 0...length) - 60)
        guard let window = try await store.window(of: query, lower..<min(length, lower + 60)) else { return }
        reads += 1
        if list.coverage.segments.count > 1 { violations.append("a hole in a list that only grows") }
        if !window.missing.isEmpty { violations.append("items missing that were there: \(window.missing)") }
        for part in window.parts {
            for item in part.content.items where item != Crowd.item(item.id ?? "") {
                violations.append("wrong bytes at \(part.offset)")
            }
        }
    }

    /// Takes a lease and checks that it is exclusive, with a file that only one process can create.
    private func lease(_ query: QueryID) async throws(StorageError) {
        let offset = 1_000_000 + Int.random(in: 0..<4)
        let granted = try await timed { () throws(StorageError) in
            try await store.claim(LeaseRequest([offset], for: .seconds(60)), of: query)
        }
        guard let lease = granted.leases.first else { return }
        let mark = "\(store.path).lease-\(offset)"
        let descriptor = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0o600)
        if descriptor < 0 { violations.append("two hold the lease of \(offset)") }
        _ = try await store.window(of: query, 0..<3)
        leases += 1
        if descriptor >= 0 {
            close(descriptor)
            unlink(mark)
        }
        try await store.record([.released(offset: offset, lease: lease.token)], for: query)
    }

    private func shift(_ query: QueryID, _ round: Int) async throws(StorageError) {
        let record = try await store.register(QueryKey("own", scope: name))
        let page = PageWrite(offset: 0, content: PageContent([Crowd.item("s\(round)")]), evidence: .inferred)
        let plan = CommitPlan(query: record.id, version: record.version, edits: [.splice(0..<0, page)])
        let outcome = try await timed { () throws(StorageError) in try await store.commit(plan) }
        if case .committed(let version) = outcome, version.revision != record.version.revision + 1 {
            violations.append("somebody else moved a list that is mine")
        }
    }

    private func timed<Value>(
        _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let start = ContinuousClock.now
        defer {
            waits.append(
                Double((ContinuousClock.now - start).components.attoseconds) / 1e15 + Double(
                    (ContinuousClock.now - start).components.seconds) * 1e3)
        }
        return try await body()
    }

    private static func item(_ name: String) -> RawItem {
        RawItem(payload: Array(String(repeating: name, count: 20).utf8), id: name)
    }
}
