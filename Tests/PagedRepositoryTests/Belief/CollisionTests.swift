import PageModel
import Testing

@testable import PagedRepository

/// The table of collisions: how often an answer arrived whose items other pages hold, and what it means.
@Suite("Items that other pages hold")
struct CollisionTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        /// The number of arrivals, and of those with the same content.
        var arrivals: (count: Int, alike: Int)
        var isKnownWhole = false
        var isAlike = true
        var shifts = [3, -2]
        var meaning: Collision
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "some items for the first time", arrivals: (1, 1), meaning: .moved),
        Row(name: "some items for the second time", arrivals: (2, 2), meaning: .secondLook),
        Row(name: "some items for the third time", arrivals: (3, 3), meaning: .secondLook),
        Row(name: "some items for the fourth time", arrivals: (4, 4), meaning: .repeatedIDs),
        Row(name: "all items, as often as may be", arrivals: (4, 4), isKnownWhole: true, meaning: .moved),
        Row(
            name: "all ids with the same other content each time", arrivals: (2, 2), isKnownWhole: true,
            isAlike: false, meaning: .secondLook),
        Row(
            name: "all ids with the same other content four times", arrivals: (4, 4), isKnownWhole: true,
            isAlike: false, meaning: .repeatedIDs),
        Row(
            name: "all ids with another content each time", arrivals: (2, 1), isKnownWhole: true, isAlike: false,
            meaning: .moved),
    ]

    @Test("A collision is a move until it persists (R21, R25)", arguments: rows)
    func collide(_ row: Row) {
        var belief = ListBelief()
        #expect(collide(row, &belief) == row.meaning)
    }

    private func collide(_ row: Row, _ belief: inout ListBelief) -> Collision {
        let arrivals = RepeatBelief.Arrivals(count: row.arrivals.count, content: 0, alike: row.arrivals.alike)
        return belief.collide(
            arrivals, isKnownWhole: row.isKnownWhole, isAlike: row.isAlike, shifts: row.shifts, .offsets)
    }

    @Test("Three answers of known items in a row show that the origin ignores positions (R24)")
    func ignored() {
        var belief = ListBelief()
        let row = Row(name: "", arrivals: (1, 1), isKnownWhole: true, meaning: .moved)
        let meanings = (0..<3).map { _ in collide(row, &belief) }
        #expect(meanings == [.moved, .moved, .ignoredPosition])
    }

    @Test("Known items that arrive before their places, three times in a row, belong to the first positions (R24)")
    func earlier() {
        var belief = ListBelief()
        let row = Row(name: "", arrivals: (1, 1), isKnownWhole: true, shifts: [-9, -9], meaning: .moved)
        let meanings = (0..<3).map { _ in collide(row, &belief) }
        #expect(meanings == [.moved, .moved, .secondLook])
    }

    @Test("Items that arrive farther back by the same distance, again and again, show hidden items (R53)")
    func shifted() {
        var belief = ListBelief()
        let row = Row(name: "", arrivals: (1, 1), shifts: [2, 2], meaning: .moved)
        let meanings = (0..<3).map { _ in collide(row, &belief) }
        #expect(meanings == [.moved, .moved, .walkByPosition])
    }
}
