import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

extension PagedList {
    /// Shows each item from `position` on to the list, as a user does who scrolls to the end of the shown items.
    func scroll(from position: Int = 0) async {
        for index in position..<max(position, current.items.count) { itemAppeared(at: index) }
        await settled()
    }

    /// Scrolls until no further item appears.
    func scrollToTheEnd() async {
        var shown = -1
        while current.items.count > shown {
            shown = current.items.count
            await scroll(from: max(0, shown - 10))
        }
    }
}

/// Collects the events of a list.
///
/// State: the events, under a mutex.
final class EventLog: Sendable {
    private let events = Mutex<[ListEvent<Row>]>([])

    init(_ list: PagedList<Row>) {
        let stream = list.events
        Task { [weak self] in for await event in stream { self?.events.withLock { $0.append(event) } } }
    }

    var all: [ListEvent<Row>] { events.withLock { $0 } }
    var failures: [ListFailure] { all.compactMap { if case .failed(let failure) = $0 { failure } else { nil } } }
    var ends: Int { all.count { if case .endReached = $0 { true } else { false } } }
    var pages: [Range<Int>] { all.compactMap { if case .pageLoaded(let range, _) = $0 { range } else { nil } } }

    /// Waits until an event has arrived.
    func reaches(_ condition: (EventLog) -> Bool) async { while !condition(self) { await Task.yield() } }
}

/// Collects the snapshots of a list.
///
/// State: the snapshots, under a mutex.
final class SnapshotLog: Sendable {
    private let snapshots = Mutex<[ListSnapshot<Row>]>([])

    init(_ list: PagedList<Row>) {
        let stream = list.snapshots
        Task { [weak self] in for await snapshot in stream { self?.snapshots.withLock { $0.append(snapshot) } } }
    }

    var all: [ListSnapshot<Row>] { snapshots.withLock { $0 } }
}
