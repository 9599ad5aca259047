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
    func line(pages: Int, length: Int? = 10_000) -> ProgressLine {
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

    @Test("A list that is held whole has no full bar before the run has stored a page")
    func heldWhole() {
        var line = ProgressLine(startedAt: noon)
        line.note(.opened(held: 1_000, length: 1_000), at: noon)
        func text(_ requests: Int, _ wait: Duration?) -> String {
            line.text(width: 120, requests: requests, storeWait: wait, now: noon + .seconds(8))
        }
        #expect(text(1, .milliseconds(999)) == "1,000/1,000 items · 1 request")
        #expect(text(0, .seconds(8)) == "1,000/1,000 items · 0 requests · waiting 8 s for the store")
        let narrow = line.text(width: 39, requests: 0, storeWait: .seconds(8), now: noon + .seconds(8))
        #expect(narrow == "1,000/1,000 items · waiting 8 s")
        line.note(.stored(0..<100, held: 1_000, length: 1_000), at: noon + .seconds(7))
        #expect(text(1, nil).hasPrefix("██████████ · 10/10 pages"))
    }

    @Test("A line without a bar has all other parts")
    func withoutBar() {
        let text = line(pages: 20).text(width: 100, requests: 21, hasBar: false, now: noon + .seconds(20))
        #expect(text == "20/100 pages · 2,000 items · 100/s · 21 requests · 80 s left")
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

    @Test("A wait that is not over is at least 1 s")
    func roundedUp() {
        var line = line(pages: 2)
        let now = noon + .seconds(4)
        line.note(.waiting(until: now + .milliseconds(1)), at: now)
        #expect(line.text(width: 120, requests: 3, now: now).contains(" · retry in 1 s · "))
        #expect(Sample.failing(0, next: .milliseconds(1)).nextText(now: Sample.now) == "in 1 s")
        #expect(Sample.failing(0, next: .zero).nextText(now: Sample.now) == "due")
        let times: [(Int, String)] = [
            (0, "0 s"), (1_000, "1 s"), (1_001, "2 s"), (119_001, "2 min"), (7_200_000, "2 h"),
        ]
        for (milliseconds, text) in times { #expect(TimeText.until(.milliseconds(milliseconds)) == text) }
        // An age is only as old as its whole seconds.
        #expect(TimeText.age(.milliseconds(1_999)) == "1 s")
    }

    @Test("A list that grows every five seconds keeps its speed between two pages, unless a page fails")
    func slow() {
        var line = ProgressLine(startedAt: noon)
        line.note(.opened(held: 0, length: nil), at: noon)
        for page in 0..<3 {
            line.note(
                .stored(page * 100..<page * 100 + 100, held: (page + 1) * 100, length: 3_000),
                at: noon + .seconds(5 * (page + 1)))
        }
        func text() -> String { line.text(width: 120, requests: nil, now: noon + .seconds(19)) }
        #expect(text().contains("20/s · 2 min left"), "\(text())")
        line.note(.failed(offset: 300, .status(503), nextAttemptAt: nil), at: noon + .seconds(18))
        #expect(!text().contains("/s") && !text().contains("left"), "\(text())")
    }

    @Test("A run over several lists names the list, and a line too long for the terminal ends with an ellipsis")
    func named() {
        var line = ProgressLine(startedAt: noon, name: "2kt6gxhe")
        func text(_ width: Int) -> String { line.text(width: width, requests: 32, now: noon + .seconds(9)) }
        #expect(text(79) == "2kt6gxhe · 0 items · 32 requests")
        line.note(.opened(held: 809, length: 1_000), at: noon)
        for page in 0..<8 { line.note(.failed(offset: 810 + page, .status(503), nextAttemptAt: nil), at: noon) }
        line.note(.waiting(until: noon + .seconds(10)), at: noon)
        #expect(text(79) == "2kt6gxhe · ████████░░ · 809/1,000 items · 8 failing pages: 503 · retry in 1 s")
        #expect(text(39) == "2kt6gxhe · 80 % · 8 failing pages: 503")
        #expect(text(19) == "80 % · 8 pages fail")
        #expect(text(18) == "8 failing pages")
        #expect(text(2) == "8…")
    }

    @Test("A failing page is no longer counted once a longer page with its positions is stored")
    func storedInOne() {
        var line = line(pages: 2)
        for offset in [200, 250] { line.note(.failed(offset: offset, .status(503), nextAttemptAt: nil), at: noon) }
        line.note(.stored(200..<300, held: 300, length: 10_000), at: noon + .seconds(3))
        #expect(!line.text(width: 120, requests: nil, now: noon + .seconds(3)).contains("failing"))
    }

    @Test("The stored and the failing pages of a list add up to its pages, also where pages overlap")
    func sum() {
        var line = ProgressLine(startedAt: noon)
        line.note(.opened(held: 0, length: nil), at: noon)
        line.note(.stored(0..<25, held: 25, length: 3_000), at: noon)
        // Each later page has 25 items, and repeats the last one of the page before it.
        for page in 1..<42 {
            line.note(
                .stored(page * 24..<page * 24 + 25, held: page * 24 + 25, length: 3_000), at: noon + .seconds(page))
        }
        for start in stride(from: 1_009, to: 3_000, by: 24) {
            line.note(.failed(offset: start, .status(503), nextAttemptAt: nil), at: noon + .seconds(42))
        }
        let text = line.text(width: 120, requests: nil, now: noon + .seconds(42))
        #expect(text.contains("42/125 pages") && text.contains("83 failing"), "\(text)")
        // The last page is shorter, and does not change the number of the others.
        line.note(.stored(2_976..<3_000, held: 1_032, length: 3_000), at: noon + .seconds(43))
        let later = line.text(width: 120, requests: nil, now: noon + .seconds(43))
        #expect(later.contains("43/125 pages") && later.contains("82 failing"), "\(later)")
    }

    @Test("No more pages fail than the list has, also before the number of its pages is known")
    func sumAtOnce() {
        var line = ProgressLine(startedAt: noon)
        line.note(.opened(held: 0, length: nil), at: noon)
        line.note(.stored(0..<25, held: 25, length: 3_000), at: noon)
        for start in stride(from: 25, to: 3_000, by: 24) {
            line.note(.failed(offset: start, .status(503), nextAttemptAt: nil), at: noon + .seconds(1))
        }
        let text = line.text(width: 120, requests: nil, now: noon + .seconds(1))
        #expect(text.contains("1/125 pages") && text.contains("124 failing"), "\(text)")
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

    @Test("A continued sweep begins with the part that is verified already, and does not call a whole list empty")
    func continuedSweep() {
        var line = ProgressLine(startedAt: noon, verifies: true, verifiedBefore: 1_200)
        func text(_ second: Int) -> String { line.text(width: 120, requests: 5, now: noon + .seconds(second)) }
        line.note(.opened(held: 3_000, length: 3_000), at: noon)
        #expect(text(1).hasPrefix("████░░░░░░ · 1,200/3,000 items verified · 5 requests"))
        // Page one is refreshed before the sweep continues.
        line.note(.stored(0..<100, held: 3_000, length: 3_000), at: noon + .seconds(1))
        #expect(text(1).hasPrefix("████░░░░░░ · 12/30 pages verified · 1,200 items verified"), "\(text(1))")
        line.note(.stored(1_200..<1_300, held: 3_000, length: 3_000), at: noon + .seconds(2))
        #expect(text(2).hasPrefix("████░░░░░░ · 13/30 pages verified · 1,300 items verified"), "\(text(2))")
        // A sweep that begins again counts from the start.
        line.note(.stored(100..<200, held: 3_000, length: 3_000), at: noon + .seconds(3))
        #expect(text(3).hasPrefix("░░░░░░░░░░ · 2/30 pages verified"), "\(text(3))")
        var new = ProgressLine(startedAt: noon, verifies: true)
        new.note(.opened(held: 3_000, length: 3_000), at: noon)
        #expect(new.text(width: 120, requests: 5, now: noon).contains(" 0/3,000 items verified"))
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
        // The failure takes precedence over the number of pages.
        #expect(text.contains(width > 20 ? "1 failing page" : "1 page fails"))
        #expect(text.contains(width >= 30 ? "99/100 pages" : "99 %"))
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
