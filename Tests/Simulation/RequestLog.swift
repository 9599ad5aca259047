import PageModel
import PagedRepository
import Synchronization

/// What is asked of an origin, by whom: nobody asks for a page that somebody alive is asking for (R30), and nobody asks
/// again for what is held (R31).
///
/// State: requests under way and finished ones, by what was asked for; under a mutex.
final class RequestLog: Sendable {
    private struct State {
        var underWay: [PageRequest.Target: Int] = [:]
        var asked: [PageRequest.Target: Int] = [:]
        /// Requests whose answer nobody took, because the process died.
        var lost: [PageRequest.Target: Int] = [:]
        var findings: [String] = []
        var isCounting = true
    }

    private let state = Mutex(State())
    /// Whether places are what is asked for: not where the list moves, or where places are asked to understand it.
    let isCalm: Bool
    /// A page of fewer items may be the end, and is asked for again to see whether it still is.
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
                    "R30: \(target) is asked for by process \(process) while process \(other) is at it")
            }
            state.underWay[target] = process
        }
    }

    /// - Parameters:
    ///   - items: how many came.
    ///   - isTaken: whether the answer became a page, or may have.
    func ended(_ target: PageRequest.Target, by process: Int, items: Int, isTaken: Bool) {
        guard isCalm || target == .first else { return }
        state.withLock { state in
            if state.underWay[target] == process { state.underWay[target] = nil }
            guard items >= fullPage else { return }
            state.asked[target, default: 0] += 1
            if !isTaken { state.lost[target, default: 0] += 1 }
        }
    }

    /// From here on leases may end early, or what is held may go: everything may be asked for twice.
    func stopCounting() { state.withLock { $0.isCounting = false } }

    /// The process is dead: what it asked for is in nobody's hands.
    func died(_ process: Int) {
        state.withLock { state in
            for (target, owner) in state.underWay where owner == process {
                state.underWay[target] = nil
                state.lost[target, default: 0] += 1
            }
        }
    }

    /// What was asked for more often than it was lost, and once.
    var repeated: [String] {
        state.withLock { state in
            state.asked.filter { $0.key != .first && $0.value > 1 + state.lost[$0.key, default: 0] }
                .map {
                    "R31: \($0.key) was asked for \($0.value) times, and lost \(state.lost[$0.key, default: 0]) times"
                }
        }
    }
}

/// A source as one process has it.
struct LoggedSource: RelayedSource {
    let source: any PageSource
    let log: RequestLog
    let process: Int

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        log.begins(request.target, by: process)
        do {
            let answer = try await source.fetch(request)
            // Its task may be cancelled by now: then nobody takes it.
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
