import PageModel
import Testing

@testable import PagedRepository

@Suite("Delivery of storage notices to lists")
struct ChangeSchedulerTests {
    private final class Name: Sendable {}
    private let names = (0..<3).map { _ in Name() }
    private var lists: [ObjectIdentifier] { names.map { ObjectIdentifier($0) } }
    private let query = QueryID(rawValue: 7)

    private func changed(_ query: QueryID, _ changes: [ChangeSet.Change] = [.validated]) -> StorageNotice {
        .changed(ChangeSet(query: query, version: nil, changes: changes))
    }

    @Test("A list that follows a query gets one turn with all of its notices in order, and other lists get none")
    func turns() {
        var scheduler = ChangeScheduler()
        #expect(scheduler.observe(query, lists[0]) == .inactive)
        _ = scheduler.observe(QueryID(rawValue: 8), lists[1])
        scheduler.enqueue(changed(query))
        scheduler.enqueue(.invalidated([query, QueryID(rawValue: 9)]))
        let turn = scheduler.next()
        #expect(turn?.list == lists[0])
        #expect(turn?.notices == [changed(query), .invalidated([query])])
        #expect(scheduler.next() == nil)
    }

    @Test("A list has one turn at a time, and notices that arrive meanwhile form its next turn")
    func oneAtATime() {
        var scheduler = ChangeScheduler()
        _ = scheduler.observe(query, lists[0])
        scheduler.enqueue(changed(query))
        _ = scheduler.next()
        scheduler.enqueue(changed(query))
        #expect(scheduler.next() == nil)
        scheduler.ended(lists[0])
        #expect(scheduler.next()?.notices == [changed(query)])
        scheduler.ended(lists[0])
        #expect(scheduler.queuedCount == 0)
    }

    @Test(
        "A new observer causes a turn unless the list follows its query; observers that change in a turn cause another")
    func listeners() {
        var scheduler = ChangeScheduler()
        scheduler.listenerAdded(to: lists[0])
        scheduler.listenerAdded(to: lists[0])
        #expect(scheduler.next()?.notices == [])
        _ = scheduler.observe(query, lists[0])
        scheduler.ended(lists[0])
        scheduler.listenerAdded(to: lists[0])
        #expect(scheduler.queuedCount == 0)
        scheduler.listenersRemoved(from: lists[0])
        #expect(scheduler.next()?.list == lists[0])
        scheduler.listenerAdded(to: lists[0])
        #expect(scheduler.queuedCount == 0)
        scheduler.ended(lists[0])
        #expect(scheduler.next()?.list == lists[0])
    }

    @Test("A list that is not stored receives the notices that may announce its registration")
    func strangers() {
        var scheduler = ChangeScheduler()
        _ = scheduler.observe(nil, lists[0])
        scheduler.enqueue(changed(query, [.stored(0..<5), .validated]))
        #expect(scheduler.queuedCount == 0)
        scheduler.enqueue(changed(query, [.registered]))
        scheduler.enqueue(.invalidated([query]))
        #expect(scheduler.next()?.notices == [changed(query, [.registered]), .invalidated([query])])
        scheduler.ended(lists[0])
        #expect(scheduler.observe(query, lists[0]) == .observing(nil))
        scheduler.enqueue(changed(QueryID(rawValue: 9), [.registered]))
        #expect(scheduler.queuedCount == 0)
    }

    @Test("A stopped list receives no earlier notice, and a forgotten list does not affect its successor")
    func stopped() {
        var scheduler = ChangeScheduler()
        _ = scheduler.observe(query, lists[0])
        scheduler.enqueue(changed(query))
        #expect(scheduler.stop(lists[0]) == .observing(query))
        #expect(scheduler.next()?.notices == [])
        scheduler.ended(lists[0])
        scheduler.enqueue(changed(query))
        #expect(scheduler.queuedCount == 0)

        _ = scheduler.observe(query, lists[1])
        _ = scheduler.observe(query, lists[2])
        #expect(scheduler.forget(lists[1]) == .observing(query))
        scheduler.enqueue(changed(query))
        #expect(scheduler.next()?.list == lists[2])
    }

    @Test("The notices waiting for a list are limited, and are folded into one beyond the limit")
    func folded() {
        var scheduler = ChangeScheduler(capacity: 4)
        _ = scheduler.observe(query, lists[0])
        for _ in 0..<4 { scheduler.enqueue(changed(query)) }
        scheduler.enqueue(.invalidated([query]))
        scheduler.enqueue(changed(query, [.total(.exact(1))]))
        #expect(scheduler.next()?.notices == [.invalidated([query]), changed(query, [.total(.exact(1))])])
    }

    @Test("Many notices of this process stay its changes when they are folded, and none is lost", arguments: [1, 2])
    func foldedOwn(width: Int) {
        var scheduler = ChangeScheduler(capacity: 8)
        _ = scheduler.observe(query, lists[0])
        let difference = ListDifference(Rearrangement([.gap(1), .kept(0..<Int.max)]))
        func tell(_ pages: Range<Int>) {
            // Concurrent requests are not stored in order.
            for page in stride(from: pages.lowerBound, to: pages.upperBound, by: width).flatMap({ first in
                (first..<min(first + width, pages.upperBound)).reversed()
            }) {
                scheduler.enqueue(
                    changed(query, [.stored(page * 10..<page * 10 + 10), .ledger([page * 10]), .validated]))
            }
        }
        tell(0..<100)
        scheduler.enqueue(changed(query, [.rearranged(difference)]))
        tell(100..<108)
        let notices = scheduler.next()?.notices ?? []
        var stored: [Range<Int>] = []
        var rest: [ChangeSet.Change] = []
        for notice in notices {
            guard case .changed(let set) = notice else {
                Issue.record("\(notice) is not a change of this process")
                continue
            }
            for change in set.changes {
                if case .stored(let range) = change { stored.append(range) } else { rest.append(change) }
            }
        }
        #expect(notices.count <= 8 && Coverage(stored).segments == [0..<1_080])
        #expect(rest.contains(.rearranged(difference)))
        #expect(rest.contains { if case .ledger = $0 { true } else { false } })
    }

    @Test("More changes of this process than fit into a notice are read again")
    func foldedTooMany() {
        var scheduler = ChangeScheduler(capacity: 4)
        _ = scheduler.observe(query, lists[0])
        for page in 0..<5 { scheduler.enqueue(changed(query, [.stored(page * 20..<page * 20 + 10)])) }
        #expect(scheduler.next()?.notices == [.invalidated([query])])
    }
}
