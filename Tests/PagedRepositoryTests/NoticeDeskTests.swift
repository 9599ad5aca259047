import PageModel
import Testing

@testable import PagedRepository

@Suite("What lists have to hear")
struct NoticeDeskTests {
    private final class Name: Sendable {}
    private let names = (0..<3).map { _ in Name() }
    private var lists: [ObjectIdentifier] { names.map { ObjectIdentifier($0) } }
    private let query = QueryID(rawValue: 7)

    private func changed(_ query: QueryID, _ changes: [Change] = [.validated]) -> StorageNotice {
        .changed(ChangeSet(query: query, version: nil, changes: changes))
    }

    @Test("a list that follows a query gets its turn with everything that was told, in order, and no other list does")
    func turns() {
        var desk = NoticeDesk()
        #expect(desk.follow(query, lists[0]) == .nowhere)
        _ = desk.follow(QueryID(rawValue: 8), lists[1])
        desk.told(changed(query))
        desk.told(.mayHaveChanged([query, QueryID(rawValue: 9)]))
        let turn = desk.next()
        #expect(turn?.list == lists[0])
        #expect(turn?.notices == [changed(query), .mayHaveChanged([query])])
        #expect(desk.next() == nil)
    }

    @Test("one turn of a list at a time; what comes meanwhile is the next one")
    func oneAtATime() {
        var desk = NoticeDesk()
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
        "who comes to a list gets it a turn, unless it follows already; who comes or goes during its turn, another one")
    func listeners() {
        var desk = NoticeDesk()
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

    @Test("a list that is not stored hears what may be its beginning")
    func strangers() {
        var desk = NoticeDesk()
        _ = desk.follow(nil, lists[0])
        desk.told(changed(query, [.stored(0..<5), .validated]))
        #expect(desk.turns == 0)
        desk.told(changed(query, [.registered]))
        desk.told(.mayHaveChanged([query]))
        #expect(desk.next()?.notices == [changed(query, [.registered]), .mayHaveChanged([query])])
        desk.ended(lists[0])
        #expect(desk.follow(query, lists[0]) == .follows(nil))
        desk.told(changed(QueryID(rawValue: 9), [.registered]))
        #expect(desk.turns == 0)
    }

    @Test("a list that stops hears nothing of what was told before; one that is gone leaves its successor alone")
    func stopped() {
        var desk = NoticeDesk()
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

    @Test("of a list that does not get to hear, as much waits as there is room for")
    func folded() {
        var desk = NoticeDesk(capacity: 4)
        _ = desk.follow(query, lists[0])
        for _ in 0..<5 { desk.told(changed(query)) }
        desk.told(changed(query, [.total(.exact(1))]))
        #expect(desk.next()?.notices == [.mayHaveChanged([query]), changed(query, [.total(.exact(1))])])
    }
}
