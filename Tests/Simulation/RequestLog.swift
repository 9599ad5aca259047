import PageModel
import PagedRepository
import Synchronization

/// The requests to an origin by process. No process requests a page while a living process is requesting it (R30). No
/// process requests held positions again (R31).
///
/// State: the running and the finished requests by target, under a mutex.
final class RequestLog: Sendable {
    private struct State {
        var underWay: [PageRequest.Target: Int] = [:]
        var asked: [PageRequest.Target: Int] = [:]
        /// The number of answers that no process took, because it died or its task was cancelled.
        var lost: [PageRequest.Target: Int] = [:]
        var findings: [String] = []
        var isCounting = true
    }

    private let state = Mutex(State())
    /// Whether all targets are checked. Page one alone is checked where the list changes or where positions are
    /// requested to verify it.
    let isCalm: Bool
    /// The size of a full page. A smaller page may be the end, and is requested again to check the end.
    private let fullPage: Int

    init(isCalm: Bool, fullPage: Int) {
        self.isCalm = isCalm
        self.fullPage = fullPage
    }

    var findings: [String] { state.withLock { $0.findings } }

    func begins(_ target: PageRequest.Target, by process: Int) {
        guard isCalm || target == .first else { return }
        state.withLock { state in
            guard state.isCounting else { return }
            if let other = state.underWay[target] {
                state.findings.append(
                    "R30: process \(process) requests \(target) while process \(other) has it in flight")
            }
            state.underWay[target] = process
        }
    }

    /// - Parameters:
    ///   - items: The number of received items.
    ///   - isTaken: Whether the answer became a page, or may have become one.
    func ended(_ target: PageRequest.Target, by process: Int, items: Int, isTaken: Bool) {
        guard isCalm || target == .first else { return }
        state.withLock { state in
            if state.underWay[target] == process { state.underWay[target] = nil }
            guard items >= fullPage else { return }
            state.asked[target, default: 0] += 1
            if !isTaken { state.lost[target, default: 0] += 1 }
        }
    }

    /// Ends the check for concurrent requests. Leases may end early or items may be removed from now on, so any page
    /// may be requested twice.
    func stopCounting() { state.withLock { $0.isCounting = false } }

    /// Counts the running requests of a dead process as lost.
    func died(_ process: Int) {
        state.withLock { state in
            for (target, owner) in state.underWay where owner == process {
                state.underWay[target] = nil
                state.lost[target, default: 0] += 1
            }
        }
    }

    /// The targets that were requested more often than one time plus their lost answers.
    var repeated: [String] {
        state.withLock { state in
            state.asked.filter { $0.key != .first && $0.value > 1 + state.lost[$0.key, default: 0] }
                .map {
                    "R31: \($0.key) was requested \($0.value) times, and its answer lost \(state.lost[$0.key, default: 0]) times"
                }
        }
    }
}

/// The source of one process, which records its requests.
struct LoggedSource: RelayedSource {
    let source: any PageSource
    let log: RequestLog
    let process: Int

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        log.begins(request.target, by: process)
        do {
            let answer = try await source.fetch(request)
            // If the task is cancelled by now, no process takes the answer.
            log.ended(request.target, by: process, items: answer.items, isTaken: !Task.isCancelled)
            return answer
        } catch {
            log.ended(request.target, by: process, items: 0, isTaken: false)
            throw error
        }
    }
}

extension PageAnswer {
    fileprivate var items: Int { if case .page(let page) = self { page.content.count } else { 0 } }
}
