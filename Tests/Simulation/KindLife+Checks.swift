import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport

/// The checks after each run and at the end of a life.
extension KindLife {
    /// The state before a run.
    struct ObservedState {
        var held: [RawItem]
        var requests: Int
        var lastChange: Int
        var isSweeping: Bool
    }

    func observedState() async throws -> ObservedState {
        let record = try await storage.query(key)
        let held = if let record { try await Inspection.held(storage, record.id) } else { [RawItem]() }
        return ObservedState(
            held: held, requests: origin.usage.requests, lastChange: origin.lastChange,
            isSweeping: record?.sweep != nil)
    }

    /// - Parameter report: The report of the run. `nil` means that several runs were made at once.
    func look(_ before: ObservedState, _ options: SyncOptions, _ report: SyncReport?) async throws {
        outcome.violations += storage.findings.map { "\($0); \(plan)" }
        let now = try await observedState()
        if source.isSpent {
            find("G4: more than \(now.requests - before.requests - 1) requests in one run", report, now)
        }
        let isPlain = plan.behaviour == OriginBehaviour() && plan.totals == .exact
        if let report, isPlain, let finding = answers.finding(report, options, origin) { find(finding, report, now) }
        // The held items of a list that never changed stay held, unless an answer was false (R14).
        let lies = ["emptyAnswer", "emptyMinute", "shortPage"]
        let isCalm = now.lastChange == 0 && !origin.hasSeen(lies)
        if isCalm, plan.behaviour.order == .stable {
            let lost = Set(before.held.compactMap(\.id)).subtracting(now.held.compactMap(\.id))
            if !lost.isEmpty {
                find("R14: held items that never left the origin are gone: \(lost.sorted().prefix(5))", report, now)
            }
        }
        // A run that sees a list at rest keeps every held item that the origin still shows (G6).
        let isRest = now.lastChange == before.lastChange && plan.behaviour.replicaLag == 0
        // An item that moved to a position after the read ones looks like a deleted one.
        let unseen = ["move", "resort", "replaceAll", "shortPage.skipped"]
        if isRest, plan.behaviour.order == .stable, !origin.hasSeen(unseen + lies), report?.outcome == .complete {
            let lost = Set(before.held.compactMap(\.id)).intersection(origin.items.compactMap(\.id))
                .subtracting(now.held.compactMap(\.id))
            if !lost.isEmpty {
                find("G6: held items that the origin shows are gone: \(lost.sorted().prefix(5))", report, now)
            }
        }
        // A finished part is reported as complete, too, and does not describe the whole list.
        let isPart =
            switch options.work {
            case .next, .positions: true
            case .everything, .refresh, .sweep: false
            }
        // An item that was sent twice may be held twice until a sweep. The end of the life checks for that.
        if plan.kind == .replicas { try await lookAtReplicas(before, now, options, report) }
        // A run that found no change reports no outline.
        guard let report, report.outcome == .complete, report.state?.record.allowsDuplicates == false,
            !isPart || report.state?.isComplete == true, mustKnow(before, now, options, report)
        else { return }
        if let difference = difference(now.held) {
            find("G2: a run reports complete, and the list differs: \(difference)", report, now)
        }
        let unheld = answers.ids.intersection(origin.items.compactMap(\.id)).subtracting(now.held.compactMap(\.id))
        if !unheld.isEmpty {
            find("G2: a complete list lacks items of the run's answers: \(unheld.sorted().prefix(5))", report, now)
        }
    }

    /// While a replica is behind, the items of both replicas are not lost, and no run reads the list repeatedly.
    private func lookAtReplicas(
        _ before: ObservedState, _ now: ObservedState, _ options: SyncOptions, _ report: SyncReport?
    ) async throws {
        let goes = origin.hasSeen(["delete", "move", "resort", "replaceAll"])
        if !goes, let record = try await storage.query(key) {
            let readable = try await Inspection.readable(storage, record.id)
            let lost = Set(before.held.compactMap(\.id)).subtracting(readable.compactMap(\.id))
                .intersection(origin.original.compactMap(\.id))
            if !lost.isEmpty {
                find("R14: held items that both replicas show are gone: \(lost.sorted().prefix(5))", report, now)
            }
        }
        let (taken, most) = (now.requests - before.requests, 4 * pages(options.pageSize) + 30)
        if report != nil, taken > most {
            find("G4: \(taken) requests with a lagging replica, at most \(most) allowed", report, now)
        }
    }

    /// Whether a run that reports the list as complete can know the origin's items.
    ///
    /// No request shows a change after page one that leaves page one and the total unchanged
    /// (Documentation/Reconciliation.md, Limits).
    private func mustKnow(_ before: ObservedState, _ now: ObservedState, _ options: SyncOptions, _ report: SyncReport)
        -> Bool
    {
        guard now.lastChange == before.lastChange, !origin.hasSeen(["shortPage.skipped"]) else { return false }
        // One false empty answer to the first request looks like an empty list.
        guard !now.held.isEmpty || !origin.hasSeen(["emptyAnswer", "emptyMinute"]) else { return false }
        let isBehind = plan.behaviour.replicaLag > 0 && !origin.isQuiet
        guard !isBehind || before.requests > now.lastChange + plan.behaviour.replicaLag else { return false }
        if now.lastChange == 0 { return true }
        switch options.work {
        case .sweep: return !before.isSweeping && !now.isSweeping && report.reconciliation == .swept
        case .everything:
            let seen = ["move", "edit", "delete", "resort", "replaceAll"]
            return [.feed, .uncounted].contains(plan.kind) && !origin.hasSeen(seen)
        case .refresh, .next, .positions: return false
        }
    }

    // MARK: End of the life

    /// Settles the origin. Then makes one run, sweeps until the list is equal, and one more run.
    func settled() async throws {
        origin.cancelEvents()
        let start = origin.usage.requests
        // Longer than any lease and any pause.
        try await sync(after: plan.kind == .clocks ? .seconds(5 * 86_400) : nil) { options in
            if plan.kind == .clocks { options.retryWaitBudget = .seconds(200_000) }
        }
        for round in 0..<3 where outcome.violations.isEmpty {
            // An interrupted sweep continues after the positions it has read, which may have changed since.
            let isWhole = try await !observedState().isSweeping
            let report = try await sync { $0.work = .sweep }
            let now = try await observedState()
            let difference = difference(now.held)
            // One sweep is enough for a list that does not change (R23).
            if round == 0, isWhole, report?.outcome == .complete, !now.isSweeping, let difference {
                find("R23: the list differs after one whole sweep: \(difference)", report, now)
            }
            if !now.isSweeping, difference == nil { break }
        }
        guard outcome.violations.isEmpty else { return }
        let between = origin.usage.requests
        let report = try await sync()
        let (now, last) = (try await observedState(), origin.usage.requests - between)
        outcome.requests = origin.usage.requests - start
        if let difference = difference(now.held) {
            find("G3: the list differs from a quiet origin: \(difference)", report, now)
        }
        if let report, !expectation.outcomes.contains(report.outcome.rawValue) {
            let right = expectation.outcomes.sorted().joined(separator: " or ")
            find("Outcome: \(report.outcome.rawValue) instead of \(right)", report, now)
        }
        if report?.state?.record.allowsDuplicates == true, !expectation.mayAllowDuplicates {
            find("R25: the list is marked as one with repeating ids, and its ids are unique", report, now)
        }
        // Pages in another order each time never join, so each walk requests the same pages through its holes again.
        let most = plan.kind == .shuffled ? 12 * pages(asked) + 80 : 8 * pages(asked) + 60
        if outcome.requests > most {
            find("G4: \(outcome.requests) requests to a quiet origin for \(pages(asked)) pages", report, now)
        }
        if let most = mostRequests, last > most {
            find("G4: \(last) requests for an unchanged list, at most \(most) allowed", report, now)
        }
        guard outcome.violations.isEmpty else { return }
        if plan.kind == .long { try await mend() }
        if plan.kind == .uncounted { try await changeWithoutTotal() }
    }

    /// The number of requests that a run without changes may take. `nil` means no limit.
    private var mostRequests: Int? {
        if let window = plan.behaviour.window { return window / plan.usualSize + 8 }
        guard expectation.outcomes == ["complete"], plan.totals == .exact else { return nil }
        let isPlain = plan.behaviour == OriginBehaviour() || plan.kind == .rewritten
        return isPlain ? 3 : pages(asked) + 8
    }

    // MARK: Descriptions

    /// Returns how the held items differ from the expected ones. `nil` means no difference.
    func difference(_ held: [RawItem]) -> String? { expectation.difference(held, origin) }

    func find(_ text: String, _ report: SyncReport? = nil, _ now: ObservedState? = nil) {
        var parts = [text, "kind \(plan.kind.rawValue)"]
        if let report {
            parts.append("\(report.outcome.rawValue) \(report.reconciliation.rawValue)")
            parts.append("\(report.usage.requests) requests")
            if let record = report.state?.record {
                parts.append("total \(record.total), end \(record.end.map(String.init) ?? "none")")
            }
            if !report.warnings.isEmpty { parts.append("\(report.warnings)") }
            if let failure = report.headFailure { parts.append("\(failure)") }
        }
        if let now { parts.append("held \(now.held.count), shown \(origin.items.count)") }
        if !expectation.reason.isEmpty { parts.append("expected because \(expectation.reason)") }
        parts.append("\(plan)".split(separator: "\n").prefix(7).joined(separator: ";"))
        outcome.violations.append(parts.joined(separator: "; "))
    }
}
