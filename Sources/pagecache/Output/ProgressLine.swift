#if Tool
import PageModel
import PagedRepository

/// The progress of a synchronisation as one line. A pure value: time, width and the number of requests are arguments.
struct ProgressLine {
    /// The time before the first line. A shorter run shows no line.
    static let quietTime = Duration.milliseconds(300)

    /// The fewest columns with a bar. On a narrower terminal, a bar would leave no room for the failing pages and the
    /// pause.
    static let narrowestWithBar = 70
    private static let separator = " · "

    private let startedAt: Timestamp
    private var held = 0
    private var length: Int?
    private var pageSize = 0
    /// The number of stored pages other than page one and the last page, and the number of their new items. Only pages
    /// of mostly new items count. A page with an overlap repeats items of the page before it.
    private var inner = (pages: 0, items: 0)
    private var failing: Set<Int> = []
    /// The latest failure.
    private var failure: FetchFailure?
    private var waitingUntil: Timestamp?
    private var growth = GrowthRate()
    /// The list that the line is about. `nil` when the command syncs one list only.
    private let name: String?

    /// Whether the run verifies every page (`--sweep`). Once every position is held, the line shows the verified part
    /// of the list, not the held part.
    private let verifies: Bool
    /// The position up to which an interrupted sweep, which this run continues, has verified the list.
    private let verifiedBefore: Int

    /// - Parameters:
    ///   - name: the id of the list that the line is about. Defaults to `nil`, which means that the command syncs one
    ///     list only.
    ///   - verifiedBefore: the position at which the run continues a sweep. Defaults to 0.
    init(startedAt: Timestamp, name: String? = nil, verifies: Bool = false, verifiedBefore: Int = 0) {
        self.startedAt = startedAt
        self.name = name
        self.verifies = verifies
        self.verifiedBefore = verifiedBefore
        growth.note(0, at: startedAt)
    }

    mutating func note(_ event: SyncEvent, at now: Timestamp) {
        switch event {
        case .opened(let held, let length):
            isVerifying = verifies && held >= length ?? .max
            (self.held, self.length) = (isVerifying ? min(verifiedBefore, held) : held, length)
            beginGrowth(at: self.held, now)
        case .stored(let range, let held, let length):
            // A sweep verifies pages in the order of their positions.
            let isVerified = verifies && held >= length ?? .max
            if isVerified, !isVerifying {
                (isVerifying, self.held) = (true, 0)
                beginGrowth(at: range.lowerBound, now)
            }
            // A run that continues a sweep refreshes page one first.
            let isPageOne = isVerified && range.lowerBound == 0
            let held = isVerified ? max(min(range.upperBound, held), isPageOne ? self.held : 0) : held
            // A page that fills a small gap does not show the usual number of new items in a page.
            let new = held - self.held
            if range.lowerBound > 0, range.upperBound < length ?? .max, new <= range.count, 2 * new > range.count {
                inner = (inner.pages + 1, inner.items + new)
            }
            (self.held, self.length) = (held, length)
            pageSize = max(pageSize, range.count)
            // A stored page can begin before the failed position, because of an overlap, or cover several failed
            // positions.
            failing = failing.filter { $0 != range.lowerBound && !range.contains($0) }
            waitingUntil = nil
            growth.note(held, at: now)
        case .failed(let offset, let failure, _):
            failing.insert(offset)
            self.failure = failure
        case .waiting(let moment): waitingUntil = moment
        case .reconciled, .notStored, .warning, .acted: break
        }
    }

    private mutating func beginGrowth(at held: Int, _ now: Timestamp) {
        growth = GrowthRate()
        growth.note(held, at: now)
    }

    /// Whether the run has lasted long enough to show a line.
    func isWorthShowing(at now: Timestamp) -> Bool { now - startedAt >= ProgressLine.quietTime }

    /// The line, in at most `width` columns. The most important parts are kept, and the order of the parts does not
    /// change.
    ///
    /// - Parameters:
    ///   - requests: the number of requests sent so far. `nil` means that requests are not counted.
    ///   - storeWait: the time that a write to the store, or a wait for the store's lock, has lasted. `nil` means that
    ///     the run does not wait for the store.
    ///   - hasBar: whether the line begins with a bar. Defaults to true.
    func text(
        width: Int, requests: Int?, storeWait: Duration? = nil, hasBar: Bool = true, now: Timestamp
    ) -> String {
        // The number of failing pages matters more than the exact progress.
        let failures = failing.isEmpty ? [] : failureTexts
        let name = width >= 30 ? name : nil
        let bar = hasBar && width >= ProgressLine.narrowestWithBar ? bar : nil
        let others = [name, bar, failures.last].compactMap(\.self)
        let how = how(width - others.reduce(0) { $0 + TextWidth.columns($1) + ProgressLine.separator.count })
        // On the narrowest terminals only the failing pages have room.
        let brief = failures.last.map { TextWidth.columns($0) + ProgressLine.separator.count } ?? 0
        let hasRoom = failures.isEmpty || TextWidth.columns(how) + brief <= width
        var parts: [Part] = []
        // The bar, the progress, the failures and the pause come first, so that they keep their places.
        if let name { parts.append(Part(rank: 1, texts: [name])) }
        if let bar { parts.append(Part(rank: 0, texts: [bar])) }
        if hasRoom { parts.append(Part(rank: 0, texts: [how])) }
        if !failures.isEmpty {
            let long = failure.map { "\(failures[failures.count - 2]): \(Printable.text($0.shownMessage))" }
            parts.append(Part(rank: hasRoom ? 1 : 0, texts: failures, long: long))
        }
        if let until = waitingUntil, until > now {
            parts.append(Part(rank: 1, texts: ["retry in \(TimeText.until(until - now))"]))
        } else if waitingUntil != nil, !failures.isEmpty {
            // The pause is over, and no page was stored since.
            parts.append(Part(rank: 1, texts: ["retrying"]))
        }
        if hasPages {
            let items = SizeText.count(held, "item", "items") + (isVerifying ? " verified" : "")
            parts.append(Part(rank: 5, texts: [items]))
        }
        if let rate = rate(at: now), rate > 0 {
            parts.append(Part(rank: 3, texts: ["\(SizeText.count(Int(rate.rounded())))/s"]))
        }
        if let requests {
            parts.append(Part(rank: 4, texts: [SizeText.count(requests, "request", "requests")]))
        }
        if let left = timeLeft(at: now) { parts.append(Part(rank: 2, texts: ["\(TimeText.until(left)) left"])) }
        if let storeWait, let wait = StoreWait.text(storeWait) {
            parts.append(Part(rank: 1, texts: [wait, "waiting \(TimeText.age(storeWait))"]))
        }
        if parts.count == (name == nil ? 1 : 2), bar == nil, failures.isEmpty {
            parts.append(Part(rank: 6, texts: [TimeText.age(now - startedAt)]))
        }
        return ProgressLine.fit(parts, into: width)
    }

    // MARK: Parts

    private struct Part {
        /// The priority, where 0 is the highest. The first part with rank 0 is never left out.
        var rank: Int
        /// Texts with the same content, the longest first. The first one that fits is shown.
        var texts: [String]
        /// The text to show instead when there is room after all parts.
        var long: String?
    }

    /// Whether the line shows the verified part of the list.
    private var isVerifying = false
    private var hasPages: Bool { pageSize > 0 && (length ?? 0) > 0 }

    /// The texts about the failing pages, the longest first: with the reason of the latest failure, and two without it.
    private var failureTexts: [String] {
        let pages = SizeText.count(failing.count, "failing page", "failing pages")
        let reason = failure.map { "\(pages): \(Printable.text($0.shortMessage))" } ?? pages
        return [reason, pages, SizeText.count(failing.count, "page fails", "pages fail")]
    }

    /// The progress so far: in pages when the page size is known, else in items. In percent when these numbers are too
    /// wide.
    private func how(_ width: Int) -> String {
        guard let length, length > 0 else { return SizeText.count(held, "item", "items") }
        let verified = isVerifying ? " verified" : ""
        guard pageSize > 0 else {
            return short("\(SizeText.count(held))/\(SizeText.count(length)) items\(verified)", width)
        }
        // The count is in pages as the run requests them, overlaps included, so that stored and failing pages add up.
        var pages = pageCount(before: length, rounding: .up)
        var done = pages
        if held < length {
            done = min(pageCount(before: held, rounding: .toNearestOrAwayFromZero), pages - 1)
            // Before the usual length of a page is known, the estimate may be smaller than the number of failing pages.
            pages = max(pages, done + failing.count)
        }
        return short("\(SizeText.count(done))/\(SizeText.count(pages)) pages\(verified)", width)
    }

    /// The number of pages of the run before a position: page one, and then pages of the usual length.
    private func pageCount(before position: Int, rounding: FloatingPointRoundingRule) -> Int {
        guard position > pageSize else { return position < pageSize && rounding != .up ? 0 : 1 }
        let usual = inner.pages > 0 ? Double(inner.items) / Double(inner.pages) : Double(pageSize)
        // A quotient that should be a whole number can be slightly larger, because of a rounding error.
        let later = Double(position - pageSize) / usual
        return 1 + Int((rounding == .up ? later - 1e-6 : later).rounded(rounding))
    }

    private func short(_ text: String, _ width: Int) -> String {
        text.count <= width ? text : "\(Int(share * 100)) %"
    }

    private var share: Double {
        guard let length, length > 0 else { return 0 }
        return min(1, Double(held) / Double(length))
    }

    /// The bar. `nil` while the length is unknown. Also `nil` for a list that is held whole, until the run has stored a
    /// page, because a full bar would mean the end.
    private var bar: String? {
        guard let length, length > 0, pageSize > 0 || held < length else { return nil }
        let filled = Int(share * 10)
        return String(repeating: "█", count: filled) + String(repeating: "░", count: 10 - filled)
    }

    /// Items a second. `nil` before the first page is stored, while the run waits for a retry, and when the list does
    /// not grow.
    private func rate(at now: Timestamp) -> Double? {
        if let waitingUntil, waitingUntil > now { return nil }
        return growth.rate(at: now, isFailing: !failing.isEmpty)
    }

    private func timeLeft(at now: Timestamp) -> Duration? {
        guard let rate = rate(at: now), rate > 0, let length, held < length else { return nil }
        return .milliseconds(Int64(min(Double(length - held) / rate * 1_000, 1e12)))
    }

    private static func fit(_ parts: [Part], into width: Int) -> String {
        var chosen: [Int: String] = [:]
        var used = 0
        for index in parts.indices.sorted(by: { (parts[$0].rank, $0) < (parts[$1].rank, $1) }) {
            let space = chosen.isEmpty ? 0 : separator.count
            let texts = parts[index].texts
            guard
                let text = texts.first(where: { used + space + TextWidth.columns($0) <= width })
                    ?? (chosen.isEmpty ? texts.last : nil)
            else { continue }
            chosen[index] = text
            used += space + TextWidth.columns(text)
        }
        let shown = parts.indices.compactMap { index -> String? in
            guard let text = chosen[index], let long = parts[index].long else { return chosen[index] }
            let more = TextWidth.columns(long) - TextWidth.columns(text)
            guard used + more <= width else { return text }
            used += more
            return long
        }
        return TextWidth.cut(shown.joined(separator: separator), to: width)
    }
}
#endif
