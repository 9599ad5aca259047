import PageModel

/// Builds the pieces of a rearrangement in order, from the first position to the last.
struct RearrangementBuilder {
    private let observedPages: [ObservedPage]
    private var pieces: [Rearrangement.Piece] = []
    private(set) var markedStale: [Range<Int>] = []
    /// The number of positions laid out, which is also the next position at the origin.
    private var position = 0
    /// Consecutive items of one answer that are being collected into one page.
    private var pending: (observed: Int, indices: Range<Int>, from: [Int?])?

    init(_ observedPages: [ObservedPage]) { self.observedPages = observedPages }

    /// Lays out all positions between two anchors.
    mutating func append(_ stretch: AnchoredInterval, _ seen: [Int: ListAlignment.ObservedItem]) {
        if stretch.isUnchanged {
            keep(stretch.cached, except: stretch.moved)
            return stretch.right == nil ? keepBehindEnd(stretch) : ()
        }
        if stretch.isOpen {
            // The end is unknown: seen items come first, and held items stay after them, marked as stale.
            return appendOpen(stretch, seen)
        }
        var next = stretch.origin.lowerBound
        for item in stretch.seen {
            appendUnseen(next..<item, stretch)
            if let item = seen[item] { write(item) }
            next = item + 1
        }
        appendUnseen(next..<stretch.origin.upperBound, stretch)
        if stretch.right == nil { keepBehindEnd(stretch) }
    }

    private mutating func appendOpen(_ stretch: AnchoredInterval, _ seen: [Int: ListAlignment.ObservedItem]) {
        var next = stretch.origin.lowerBound
        for item in stretch.seen {
            if item > next { gap(item - next) }
            if let item = seen[item] { write(item) }
            next = item + 1
        }
        let rest = stretch.cached.lowerBound..<Int.max
        if stretch.held.isEmpty || stretch.holdsNothing {
            keep(rest, except: stretch.moved)
        } else {
            markStale(rest, except: stretch.moved)
        }
    }

    /// Lays out positions without seen items. Cached items there are kept and marked as stale. Other positions become a
    /// gap.
    private mutating func appendUnseen(_ range: Range<Int>, _ stretch: AnchoredInterval) {
        guard !range.isEmpty else { return }
        let start = min(
            stretch.cached.lowerBound + (range.lowerBound - stretch.origin.lowerBound), stretch.cached.upperBound)
        let there = start..<min(start + range.count, stretch.cached.upperBound)
        flush()
        let before = position
        markStale(there, except: stretch.moved)
        if position - before < range.count { gap(range.count - (position - before)) }
    }

    /// Keeps the ledger rows and gaps after the end of the list. All held items have been laid out by now.
    private mutating func keepBehindEnd(_ stretch: AnchoredInterval) {
        keep(stretch.cached.upperBound..<Int.max)
    }

    mutating func finished() -> [Rearrangement.Piece] {
        flush()
        return pieces
    }

    mutating func write(_ item: ListAlignment.ObservedItem) {
        if let known = pending, known.observed == item.observed, known.indices.upperBound == item.index {
            pending?.indices = known.indices.lowerBound..<item.index + 1
            pending?.from.append(item.place?.position)
        } else {
            flush()
            pending = (item.observed, item.index..<item.index + 1, [item.place?.position])
        }
    }

    mutating func keep(_ range: Range<Int>, except moved: [Int] = []) {
        var start = range.lowerBound
        for position in moved where range.contains(position) {
            keepAll(start..<position)
            start = position + 1
        }
        keepAll(start..<range.upperBound)
    }

    private mutating func markStale(_ range: Range<Int>, except moved: [Int]) {
        flush()
        let before = position
        keep(range, except: moved)
        let after = range.upperBound == .max ? Int.max : position
        guard after > before else { return }
        if let last = markedStale.last, last.upperBound == before {
            markedStale[markedStale.count - 1] = last.lowerBound..<after
        } else {
            markedStale.append(before..<after)
        }
    }

    private mutating func keepAll(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        flush()
        if case .kept(let last) = pieces.last, last.upperBound == range.lowerBound {
            pieces[pieces.count - 1] = .kept(last.lowerBound..<range.upperBound)
        } else {
            pieces.append(.kept(range))
        }
        if range.upperBound < .max { position += range.count }
    }

    private mutating func gap(_ count: Int) {
        flush()
        position += count
        if case .gap(let before) = pieces.last {
            pieces[pieces.count - 1] = .gap(before + count)
        } else {
            pieces.append(.gap(count))
        }
    }

    private mutating func flush() {
        guard let page = pending else { return }
        pending = nil
        // The seams are marked as verified afterwards, for the whole answer: see `RepairPlan.verified`.
        let write = observedPages[page.observed].write(page.indices, at: position, evidence: .inferred)
        pieces.append(.written(write, from: page.from))
        position += page.indices.count
    }
}
