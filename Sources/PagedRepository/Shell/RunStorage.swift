import PageModel

/// The part of a storage that a run uses. With `SyncOptions.reportsActions`, each call is reported with its result.
///
/// Owned by the task of the run. State: the last outline, which is returned again until the run writes, pauses or
/// receives an answer. Another process may have changed the list meanwhile. The storage then rejects the commit (R4).
final class RunStorage {
    private let base: any PageStorage
    /// Reports an action and its result in a few words. `nil` unless the options request reports of actions.
    private let report: RunTelemetry.Report?
    private var known: (query: QueryID, list: ListOutline?)?

    init(base: any PageStorage, report: RunTelemetry.Report?) {
        (self.base, self.report) = (base, report)
    }

    /// Discards the last outline. The next call of `outline(of:)` reads the list again.
    func expire() { known = nil }

    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? { try await base.query(key) }

    func state(of key: QueryKey) async throws(StorageError) -> ListState? {
        let state = try await base.state(of: key)
        report?(.readState, state.map { "revision \($0.record.version.revision)" } ?? "no such query")
        return state
    }

    func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        expire()
        let record = try await base.register(key)
        report?(.register, "revision \(record.version.revision)")
        return record
    }

    func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        if let known, known.query == query { return known.list }
        let list = try await base.outline(of: query)
        known = (query, list)
        report?(.readOutline(nil), RunStorage.text(list))
        return list
    }

    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        let list = try await base.excerpt(of: query, range)
        report?(.readOutline(range), RunStorage.text(list))
        return list
    }

    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        let window = try await base.window(of: query, range)
        report?(.readItems(range), window.map { RunStorage.count($0.parts.count, "part") } ?? "no such query")
        return window
    }

    func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        let damage = try await base.damage(of: query, thoroughly: thoroughly)
        report?(.checkStoredItems, damage.isNone ? "no damage" : "damage")
        return damage
    }

    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        let places = try await base.locate(keys, in: query)
        report?(.locate(keys.count), "\(places.count) held")
        return places
    }

    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        try await commit(plan, claiming: nil).outcome
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        expire()
        let receipt = try await base.commit(plan, claiming: request)
        report?(.commit(plan), RunStorage.text(receipt))
        if let request, let grant = receipt.grant { report?(.lease(request.offsets), RunStorage.text(grant)) }
        return receipt
    }

    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        expire()
        let grant = try await base.claim(request, of: query)
        report?(.lease(request.offsets), RunStorage.text(grant))
        return grant
    }

    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        expire()
        let lost = try await base.record(edits, for: query)
        report?(.record(edits), lost.isEmpty ? "recorded" : "\(lost.count) leases were lost")
        return lost
    }

    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        expire()
        let held = try await base.heartbeat(owner, for: duration)
        report?(.renewLeases, "\(held.count) held")
        return held
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    private static func text(_ list: ListOutline?) -> String {
        list.map { "revision \($0.record.version.revision), \(count($0.pages.count, "page"))" } ?? "no such query"
    }

    private static func text(_ receipt: CommitReceipt) -> String {
        switch receipt.outcome {
        case .committed(let version): "revision \(version.revision)"
        case .superseded(let version): "superseded; the list has revision \(version.revision)"
        case .duplicates(let ranges): "refused; the items are held at \(ranges.map { "\($0)" }.joined(separator: ", "))"
        }
    }

    private static func text(_ grant: LeaseGrant) -> String { "\(grant.offsets.count) granted" }
}
