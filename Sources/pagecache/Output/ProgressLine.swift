#if Tool
import PageModel
import PagedRepository

/// The progress of a synchronisation as one line. A pure value: time, width and the number of requests are arguments.
struct ProgressLine {
    /// The time before the first line. Short runs end within it, and need no line.
    static let quietTime = Duration.milliseconds(300)
    /// The time over which the speed is measured, so that it is the present speed.
    private static let memory = Duration.seconds(10)

    private let startedAt: Timestamp
    private var held = 0
    private var length: Int?
    private var pageSize = 0
    private var failing: Set<Int> = []
    /// The latest failure.
    private var failure: FetchFailure?
    private var waitingUntil: Timestamp?
    /// The number of held items at several times. The speed is measured from the oldest sample.
    private var samples: [(at: Timestamp, held: Int)] = []

    /// Whether the run verifies every page (`--sweep`). Once every position is held, the line shows the verified part
    /// of the list, not the held part.
    private let verifies: Bool

    init(startedAt: Timestamp, verifies: Bool = false) {
        self.startedAt = startedAt
        self.verifies = verifies
    }

    mutating func note(_ event: SyncEvent, at now: Timestamp) {
        switch event {
        case .opened(let held, let length):
            (self.held, self.length) = (verifies && held >= length ?? .max ? 0 : held, length)
            samples = [(now, self.held)]
        case .stored(let range, let held, let length):
            // A sweep verifies pages in the order of their positions.
            let isVerified = verifies && held >= length ?? .max
            if isVerified, !isVerifying { (isVerifying, samples) = (true, [(now, range.lowerBound)]) }
            let held = isVerified ? min(range.upperBound, held) : held
            (self.held, self.length) = (held, length)
            pageSize = max(pageSize, range.count)
            failing.remove(range.lowerBound)
            waitingUntil = nil
            if samples.isEmpty { samples = [(startedAt, 0)] }
            // More than a few samples a second would only cost memory.
            if samples.count > 1, now - samples[samples.count - 2].at < .milliseconds(250) { samples.removeLast() }
            samples.append((now, held))
            while samples.count > 2, now - samples[1].at > ProgressLine.memory { samples.removeFirst() }
        case .failed(let offset, let failure, _):
            failing.insert(offset)
            self.failure = failure
        case .waiting(let moment): waitingUntil = moment
        case .reconciled, .notStored, .warning, .acted: break
        }
    }

    /// Whether the run has lasted long enough to show a line.
    func isWorthShowing(at now: Timestamp) -> Bool { now - startedAt >= ProgressLine.quietTime }

    /// The line, in at most `width` columns. The most important parts are kept, and the order of the parts does not
    /// change.
    ///
    /// - Parameter requests: the number of requests sent so far. `nil` means it is not counted.
    func text(width: Int, requests: Int?, now: Timestamp) -> String {
        var parts = [Part(rank: 0, text: how(width))]
        if let bar = bar { parts.insert(Part(rank: 7, text: bar), at: 0) }
        if hasPages {
            parts.append(Part(rank: 5, text: SizeText.count(held, "item", "items") + (isVerifying ? " verified" : "")))
        }
        if let rate = rate(at: now), rate > 0 {
            parts.append(Part(rank: 3, text: "\(SizeText.count(Int(rate.rounded())))/s"))
        }
        if let requests {
            parts.append(Part(rank: 4, text: SizeText.count(requests, "request", "requests")))
        }
        if let left = timeLeft(at: now) { parts.append(Part(rank: 2, text: "\(TimeText.age(left)) left")) }
        if !failing.isEmpty {
            let count = "\(failing.count) failing"
            parts.append(
                Part(
                    rank: 1, text: count, medium: shortReason.map { "\(count): \($0)" },
                    long: failure.map { "\(count): \(Printable.text($0.shownMessage))" }))
        }
        if let until = waitingUntil, until > now {
            parts.append(Part(rank: 1, text: "retry in \(TimeText.age(until - now))"))
        }
        if parts.count == 1 { parts.append(Part(rank: 6, text: TimeText.age(now - startedAt))) }
        return ProgressLine.fit(parts, into: width)
    }

    // MARK: Parts

    private struct Part {
        /// The priority, where 0 is the highest. The part with rank 0 is never left out.
        var rank: Int
        var text: String
        /// The text to show instead when there is room before the parts of lower priority.
        var medium: String?
        /// The text to show instead when there is room after all parts.
        var long: String?
    }

    /// Whether a page was verified.
    private var isVerifying = false
    private var hasPages: Bool { pageSize > 0 && (length ?? 0) > 0 }

    /// The progress so far: in pages when the page size is known, else in items.
    private func how(_ width: Int) -> String {
        guard let length, length > 0 else { return SizeText.count(held, "item", "items") }
        guard pageSize > 0 else { return short("\(SizeText.count(held))/\(SizeText.count(length)) items", width) }
        // A page with an overlap adds one item less than the others. Rounding up there would count a page too many.
        let pages = (length + pageSize - 1) / pageSize
        let done = held >= length ? pages : min(held / pageSize, pages - 1)
        return short("\(SizeText.count(done))/\(SizeText.count(pages)) pages\(isVerifying ? " verified" : "")", width)
    }

    private func short(_ text: String, _ width: Int) -> String {
        text.count <= width ? text : "\(Int(share * 100)) %"
    }

    private var share: Double {
        guard let length, length > 0 else { return 0 }
        return min(1, Double(held) / Double(length))
    }

    private var bar: String? {
        guard let length, length > 0 else { return nil }
        let filled = Int(share * 10)
        return String(repeating: "█", count: filled) + String(repeating: "░", count: 10 - filled)
    }

    /// The status of the latest failure, or a few words about it.
    private var shortReason: String? {
        failure.map { failure in
            if let status = failure.httpStatus { return String(status) }
            return failure.shownMessage.count <= 24
                ? Printable.text(failure.shownMessage) : failure.failureClass.rawValue
        }
    }

    /// Whether progress has stopped: the run waits for a retry, or the last page was stored longer ago than three usual
    /// intervals between pages, and than three seconds.
    private func isStalled(at now: Timestamp) -> Bool {
        if let waitingUntil, waitingUntil > now { return true }
        guard let first = samples.first, let last = samples.last, samples.count > 1 else { return false }
        let usual = (last.at - first.at) / (samples.count - 1)
        return now - last.at > max(.seconds(3), usual * 3)
    }

    /// Items a second within the recent samples. `nil` before the first page is stored, and when nothing moves.
    private func rate(at now: Timestamp) -> Double? {
        guard let first = samples.first, samples.count > 1, !isStalled(at: now) else { return nil }
        let seconds = Double((now - first.at).wholeMilliseconds) / 1_000
        return seconds < 0.1 ? nil : Double(max(0, held - first.held)) / seconds
    }

    private func timeLeft(at now: Timestamp) -> Duration? {
        guard let rate = rate(at: now), rate > 0, let length, held < length else { return nil }
        return .milliseconds(Int64(min(Double(length - held) / rate * 1_000, 1e12)))
    }

    private static func fit(_ parts: [Part], into width: Int) -> String {
        var parts = parts
        var chosen: Set<Int> = []
        var used = 0
        for index in parts.indices.sorted(by: { (parts[$0].rank, $0) < (parts[$1].rank, $1) }) {
            let space = chosen.isEmpty ? 0 : 3
            let texts = [parts[index].medium, parts[index].text].compactMap { $0 }
            guard
                let text = texts.first(where: { used + space + $0.count <= width })
                    ?? (chosen.isEmpty ? texts.last : nil)
            else { continue }
            parts[index].text = text
            chosen.insert(index)
            used += space + text.count
        }
        let line = parts.indices.filter(chosen.contains).map { index in
            guard let long = parts[index].long, used + long.count - parts[index].text.count <= width else {
                return parts[index].text
            }
            used += long.count - parts[index].text.count
            return long
        }.joined(separator: " · ")
        return String(line.prefix(width))
    }
}
#endif
