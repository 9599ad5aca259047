#if Tool
import PageModel
import PagedRepository
import StorageSupport
import Testing
@testable import pagecache

// The line while requests fail.
extension ProgressLineTests {
    @Test("The line shows the reason of the latest failure where there is room")
    func reason() {
        var line = line(pages: 2)
        line.note(.failed(offset: 200, .status(503), nextAttemptAt: nil), at: noon + .seconds(4))
        #expect(
            line.text(width: 120, requests: 3, now: noon + .seconds(4))
                .contains("1 failing page: the origin answered 503"))
        #expect(line.text(width: 40, requests: 3, now: noon + .seconds(4)).contains("1 failing page: 503"))
    }

    @Test("At 80 columns the line keeps the status of the failure, and shows no speed while nothing moves")
    func stalled() {
        var line = line(pages: 20)
        for page in 20..<59 {
            line.note(.failed(offset: page * 100, .status(500), nextAttemptAt: nil), at: noon + .seconds(21))
        }
        let moving = line.text(width: 80, requests: 60, now: noon + .seconds(21))
        #expect(moving.contains("39 failing pages: 500"), "\(moving)")
        let later = line.text(width: 80, requests: 60, now: noon + .seconds(26))
        #expect(later.contains("39 failing pages: "), "\(later)")
        #expect(!later.contains("/s") && !later.contains("left"), "\(later)")
        line.note(.waiting(until: noon + .seconds(30)), at: noon + .seconds(20))
        let waiting = line.text(width: 80, requests: 60, now: noon + .seconds(20))
        #expect(waiting.contains("retry in 10 s") && !waiting.contains("left"), "\(waiting)")
    }

    @Test("While requests fail, the bar, the progress, the failing pages and the pause keep their places")
    func stable() {
        var line = line(pages: 20)
        for page in 20..<59 {
            line.note(.failed(offset: page * 100, .status(503), nextAttemptAt: nil), at: noon + .seconds(21))
        }
        func text(_ second: Int, _ width: Int = 79) -> String {
            line.text(width: width, requests: 60 + second, now: noon + .seconds(second))
        }
        let start = "██░░░░░░░░ · 20/100 pages · 39 failing pages: "
        for second in [21, 22, 26] { #expect(text(second).hasPrefix(start), "\(text(second))") }
        line.note(.waiting(until: noon + .seconds(30)), at: noon + .seconds(26))
        #expect(text(26).hasPrefix(start + "503 · retry in 4 s"), "\(text(26))")
        #expect(text(29).hasPrefix(start + "503 · retry in 1 s"), "\(text(29))")
        // The next attempt has begun.
        for second in [30, 35] { #expect(text(second).hasPrefix(start + "503 · retrying"), "\(text(second))") }
        line.note(.waiting(until: noon + .seconds(50)), at: noon + .seconds(36))
        #expect(text(40).hasPrefix(start + "503 · retry in 10 s"), "\(text(40))")
        // A narrower terminal has no bar at any time, and has room for the failures and the pause instead.
        #expect(text(40, 59) == "20/100 pages · 39 failing pages: 503 · retry in 10 s")
    }

    @Test("While all requests fail, the speed and the time left stay as they are for two seconds, and then vanish")
    func failingAll() {
        var line = ProgressLine(startedAt: noon)
        line.note(.opened(held: 0, length: nil), at: noon)
        for page in 0..<10 {
            let now = noon + .milliseconds(100 * (page + 1))
            line.note(.stored(page * 100..<page * 100 + 100, held: (page + 1) * 100, length: 3_000), at: now)
        }
        func text(_ milliseconds: Int) -> String {
            line.text(width: 120, requests: nil, now: noon + .milliseconds(milliseconds))
        }
        for second in 0..<5 {
            line.note(
                .failed(offset: 1_000 + 100 * second, .status(503), nextAttemptAt: nil),
                at: noon + .milliseconds(1_100 + 1_000 * second))
        }
        for milliseconds in [1_100, 2_000, 2_999] {
            #expect(text(milliseconds).contains("1,000/s · 2 s left"), "\(text(milliseconds))")
        }
        for milliseconds in [3_000, 4_000, 6_000] {
            let later = text(milliseconds)
            #expect(!later.contains("/s") && !later.contains("left"), "\(later)")
        }
        line.note(.stored(1_000..<1_100, held: 1_100, length: 3_000), at: noon + .milliseconds(6_000))
        #expect(text(6_100).contains("/s"))
    }
}
#endif
