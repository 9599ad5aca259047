#if Tool
import PageModel
import PagedRepository
import StorageSupport
import Testing
@testable import pagecache

@Suite("The progress line of a synchronization")
struct ProgressLineTests {
    /// Returns the line of a list in pages of 100 items, after one page per second. The list has 10,000 items unless
    /// `length` is different.
    private func line(pages: Int, length: Int? = 10_000) -> ProgressLine {
        var line = ProgressLine(startedAt: noon)
        line.note(.opened(held: 0, length: nil), at: noon)
        for page in 0..<pages {
            line.note(
                .stored(page * 100..<page * 100 + 100, held: (page + 1) * 100, length: length),
                at: noon + .seconds(page + 1))
        }
        return line
    }

    @Test("A run that ends within 300 ms shows no progress line")
    func quiet() {
        let line = line(pages: 0)
        #expect(!line.isWorthShowing(at: noon + .milliseconds(299)))
        #expect(line.isWorthShowing(at: noon + .milliseconds(300)))
    }

    @Test("The line shows pages, items, speed, requests and the remaining time")
    func whole() {
        let text = line(pages: 20).text(width: 120, requests: 21, now: noon + .seconds(20))
        #expect(text == "██░░░░░░░░ · 20/100 pages · 2,000 items · 100/s · 21 requests · 80 s left")
    }

    @Test("The speed is that of the last ten seconds")
    func recentSpeed() {
        var line = line(pages: 10)
        // After a pause of an hour the pages arrive ten times as fast, and then at half that speed.
        let later = noon + .seconds(3_600)
        for second in 0..<20 {
            let held = 1_000 + (second + 1) * 100
            line.note(.stored(held - 100..<held, held: held, length: 10_000), at: later + .milliseconds(100 * second))
        }
        for second in 0..<12 {
            let held = 3_000 + (second + 1) * 500
            line.note(.stored(held - 500..<held, held: held, length: 10_000), at: later + .seconds(2 + second))
        }
        #expect(line.text(width: 120, requests: nil, now: later + .seconds(13)).contains("500/s"))
    }

    @Test("Failures and pauses are shown until the page is stored")
    func failures() {
        var line = line(pages: 2)
        let failure = FetchFailure.status(503)
        line.note(.failed(offset: 200, failure, nextAttemptAt: noon + .seconds(14)), at: noon + .seconds(4))
        line.note(.waiting(until: noon + .seconds(14)), at: noon + .seconds(4))
        let waiting = line.text(width: 120, requests: 3, now: noon + .seconds(4))
        #expect(waiting.contains("1 failing"))
        #expect(waiting.contains("retry in 10 s"))
        line.note(.stored(200..<300, held: 300, length: 10_000), at: noon + .seconds(15))
        let later = line.text(width: 120, requests: 4, now: noon + .seconds(15))
        #expect(!later.contains("failing"))
        #expect(!later.contains("retry"))
    }

    @Test("The line shows the reason of the latest failure where there is room")
    func reason() {
        var line = line(pages: 2)
        line.note(.failed(offset: 200, .status(503), nextAttemptAt: nil), at: noon + .seconds(4))
        #expect(
            line.text(width: 120, requests: 3, now: noon + .seconds(4)).contains("1 failing: the origin answered 503"))
        #expect(line.text(width: 40, requests: 3, now: noon + .seconds(4)).contains("1 failing"))
    }

    @Test("At 80 columns the line keeps the status of the failure, and shows no speed while nothing moves")
    func stalled() {
        var line = line(pages: 20)
        for page in 20..<59 {
            line.note(.failed(offset: page * 100, .status(500), nextAttemptAt: nil), at: noon + .seconds(21))
        }
        let moving = line.text(width: 80, requests: 60, now: noon + .seconds(21))
        #expect(moving.contains("39 failing: 500"), "\(moving)")
        let later = line.text(width: 80, requests: 60, now: noon + .seconds(26))
        #expect(later.contains("39 failing: "), "\(later)")
        #expect(!later.contains("/s") && !later.contains("left"), "\(later)")
        line.note(.waiting(until: noon + .seconds(30)), at: noon + .seconds(20))
        let waiting = line.text(width: 80, requests: 60, now: noon + .seconds(20))
        #expect(waiting.contains("retry in 10 s") && !waiting.contains("left"), "\(waiting)")
    }

    @Test("A sweep shows the verified part of a complete list, not a full bar")
    func sweep() {
        var line = ProgressLine(startedAt: noon, verifies: true)
        line.note(.opened(held: 10_000, length: 10_000), at: noon)
        #expect(line.text(width: 120, requests: 1, now: noon + .seconds(1)).hasPrefix("░░░░░░░░░░"))
        line.note(.stored(0..<100, held: 10_000, length: 10_000), at: noon + .seconds(1))
        for page in 1..<50 {
            line.note(
                .stored(page * 100..<page * 100 + 100, held: 10_000, length: 10_000), at: noon + .seconds(1 + page))
        }
        let text = line.text(width: 120, requests: 50, now: noon + .seconds(50))
        #expect(text.hasPrefix("█████░░░░░ · 50/100 pages verified · 5,000 items verified"), "\(text)")
        #expect(text.contains("50 s left"), "\(text)")
    }

    @Test("A list of unknown length is counted in items")
    func unknownLength() {
        let text = line(pages: 3, length: nil).text(width: 120, requests: 3, now: noon + .seconds(3))
        #expect(text.hasPrefix("300 items · 100/s"))
        #expect(!text.contains("left"))
        #expect(!text.contains("pages"))
    }

    @Test(
        "The line fits any width from 20 columns on, and shows how many pages are done",
        arguments: [20, 21, 30, 40, 60, 79, 200])
    func widths(width: Int) {
        var line = line(pages: 99)
        line.note(.failed(offset: 9_900, .status(500), nextAttemptAt: nil), at: noon + .seconds(99))
        let text = line.text(width: width, requests: 12_345, now: noon + .seconds(100))
        #expect(text.count <= width)
        #expect(text.contains("99/100 pages"))
        // The failure takes precedence where there is room for one more part.
        #expect(text.contains("failing") == (width >= 24))
    }

    @Test("Numbers that are too long for a narrow terminal become a percentage")
    func share() {
        var line = ProgressLine(startedAt: noon)
        line.note(.stored(0..<1, held: 500_000_000, length: 1_000_000_000), at: noon + .seconds(1))
        #expect(line.text(width: 20, requests: nil, now: noon + .seconds(1)).hasPrefix("50 %"))
    }

    @Test("A line that a narrower terminal has broken into rows is erased whole, unless the terminal cuts lines")
    func erasing() {
        func rows(_ columns: Int, _ width: Int, breaksLines: Bool = true) -> String {
            Terminal.erasing(columns, width: width, breaksLines: breaksLines)
        }
        #expect(rows(68, 100) == "\r\u{1b}[K")
        #expect(rows(40, 40) == "\r\u{1b}[K")
        #expect(rows(41, 40) == "\u{1b}[1A\r\u{1b}[J")
        #expect(rows(68, 20) == "\u{1b}[3A\r\u{1b}[J")
        #expect(rows(68, 20, breaksLines: false) == "\r\u{1b}[K")
    }

    @Test("Before the first page the line shows the time waited")
    func nothingYet() {
        let text = ProgressLine(startedAt: noon).text(width: 40, requests: nil, now: noon + .seconds(3))
        #expect(text == "0 items · 3 s")
    }
}
#endif
