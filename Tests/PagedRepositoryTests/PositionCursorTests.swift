import PageModel
import Testing

@testable import PagedRepository

@Suite("Cursors made of positions (R53)")
struct PositionCursorTests {
    @Test(
        "A position becomes the text of a cursor and back",
        arguments: [
            (PositionCursor.offset(0, repeatsLast: false), "position 0"),
            (.offset(40, repeatsLast: true), "position 40 again"),
            (.page(3), "page 3"),
        ])
    func text(cursor: PositionCursor, text: String) {
        #expect(cursor.cursor.text == "\u{1}pagecache \(text)")
        #expect(PositionCursor(cursor.cursor) == cursor)
    }

    @Test(
        "A text of another form is not a cursor made of a position",
        arguments: ["", "page", "page -1", "page 1 again", "position", "position 3 4", "position 3 again x", "abc 3"])
    func others(text: String) {
        #expect(PositionCursor(PageCursor("\u{1}pagecache \(text)")) == nil)
        #expect(PositionCursor(nil) == nil)
    }

    @Test(
        "A cursor of the origin is not taken for one of the engine, whatever its text is",
        arguments: ["page 3", "position 12", "position 12 again", "pagecache page 3"])
    func ofOrigin(text: String) {
        #expect(PositionCursor(PageCursor(text)) == nil)
    }

    @Test("A step by offset is as long as the answer less one item, and passes no item")
    func stepsByOffset() {
        let here = PositionCursor.offset(20, repeatsLast: true)
        #expect(here.next(received: 17, new: 16, span: 20) == .offset(36, repeatsLast: true))
        #expect(here.next(received: 2, new: 1, span: 20) == .offset(21, repeatsLast: true))
        #expect(here.next(received: 1, new: 1, span: 20) == .offset(21, repeatsLast: false))
        #expect(here.next(received: 1, new: 0, span: 20) == .offset(21, repeatsLast: false))
    }

    @Test("An answer without items covers the longest page, and one with known items only as many positions as it has")
    func empty() {
        let here = PositionCursor.offset(20, repeatsLast: true)
        #expect(here.next(received: 0, new: 0, span: 20) == .offset(40, repeatsLast: false))
        #expect(here.next(received: 3, new: 0, span: 20) == .offset(23, repeatsLast: false))
        #expect(here.next(received: 0, new: 0, span: 0) == .offset(21, repeatsLast: false))
    }

    @Test("A step by page number is one page, whatever the answer contains", arguments: [0, 1, 20])
    func stepsByPage(received: Int) {
        #expect(PositionCursor.page(2).next(received: received, new: received, span: 20) == .page(3))
    }

    @Test("The request follows the present size of the grid, and another way of paging makes the cursor useless")
    func offsets() {
        #expect(PositionCursor.page(3).offset(.grid(size: 10)) == 30)
        #expect(PositionCursor.page(3).offset(.grid(size: 15)) == 45)
        #expect(PositionCursor.page(.max).offset(.grid(size: 15)) == nil)
        #expect(PositionCursor.page(3).offset(.offsets) == nil)
        #expect(PositionCursor.offset(7, repeatsLast: true).offset(.offsets) == 7)
        #expect(PositionCursor.offset(7, repeatsLast: true).offset(.grid(size: 10)) == nil)
    }

    @Test("The last received items count as repeated only if the answer begins with them in the same order")
    func repeats() {
        let here = PositionCursor.offset(20, repeatsLast: true)
        #expect(here.repeats([3, 4, 5], behind: [1, 2, 3]) == 1)
        #expect(here.repeats([2, 3, 4], behind: [1, 2, 3]) == 2)
        #expect(here.repeats([3, 2, 4], behind: [1, 2, 3]) == 1)
        #expect(here.repeats([4, 3], behind: [1, 2, 3]) == 0)
        #expect(here.repeats([3], behind: []) == 0)
        #expect(PositionCursor.page(2).repeats([3, 4], behind: [2, 3]) == 0)
    }
}
