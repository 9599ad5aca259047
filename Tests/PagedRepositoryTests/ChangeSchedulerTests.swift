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
        var desk = ChangeScheduler()
        #expect(desk.follow(query, lists[0]) == .nowhere)
        _ = desk.follow(QueryID(rawValue: 8), lists[1])
        desk.told(changed(query))
        desk.told(.invalidated([query, QueryID(rawValue: 9)]))
        let turn = desk.next()
        #expect(turn?.list == lists[0])
        #expect(turn?.notices == [changed(query), .invalidated([query])])
        #expect(desk.next() == nil)
    }

    @Test("A list has one turn at a time, and notices that arrive meanwhile form its next turn")
    func oneAtATime() {
        var desk = ChangeScheduler()
        _ = desk.follow(query, lists[0])
        desk.told(changed(query))
        _ = desk.next()
        desk.told(changed(query))
        #expect(desk.next() == nil)
        desk.ended(lists[0])
        #expect(desk.next()?.notices == [changed(query)])
        desk.ended(lists[0])
        #expect(desk.turns == 0)
    }

    @Test(
        "A new observer causes a turn unless the list follows its query; observers that change in a turn cause another")
    func listeners() {
        var desk = ChangeScheduler()
        desk.came(to: lists[0])
        desk.came(to: lists[0])
        #expect(desk.next()?.notices == [])
        _ = desk.follow(query, lists[0])
        desk.ended(lists[0])
        desk.came(to: lists[0])
        #expect(desk.turns == 0)
        desk.left(lists[0])
        #expect(desk.next()?.list == lists[0])
        desk.came(to: lists[0])
        #expect(desk.turns == 0)
        desk.ended(lists[0])
        #expect(desk.next()?.list == lists[0])
    }

    @Test("A list that is not stored receives the notices that may announce its registration")
    func strangers() {
        var desk = ChangeScheduler()
        _ = desk.follow(nil, lists[0])
        desk.told(changed(query, [.stored(0..<5), .validated]))
        #expect(desk.turns == 0)
        desk.told(changed(query, [.registered]))
        desk.told(.invalidated([query]))
        #expect(desk.next()?.notices == [changed(query, [.registered]), .invalidated([query])])
        desk.ended(lists[0])
        #expect(desk.follow(query, lists[0]) == .follows(nil))
        desk.told(changed(QueryID(rawValue: 9), [.registered]))
        #expect(desk.turns == 0)
    }

    @Test("A stopped list receives no earlier notice, and a forgotten list does not affect its successor")
    func stopped() {
        var desk = ChangeScheduler()
        _ = desk.follow(query, lists[0])
        desk.told(changed(query))
        #expect(desk.stop(lists[0]) == .follows(query))
        #expect(desk.next()?.notices == [])
        desk.ended(lists[0])
        desk.told(changed(query))
        #expect(desk.turns == 0)

        _ = desk.follow(query, lists[1])
        _ = desk.follow(query, lists[2])
        #expect(desk.forget(lists[1]) == .follows(query))
        desk.told(changed(query))
        #expect(desk.next()?.list == lists[2])
    }

    @Test("The notices waiting for a list are limited, and are folded into one beyond the limit")
    func folded() {
        var desk = ChangeScheduler(capacity: 4)
        _ = desk.follow(query, lists[0])
        for _ in 0..<5 { desk.told(changed(query)) }
        desk.told(changed(query, [.total(.exact(1))]))
        #expect(desk.next()?.notices == [.invalidated([query]), changed(query, [.total(.exact(1))])])
    }
}
