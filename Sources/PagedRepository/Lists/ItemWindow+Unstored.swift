import PageModel
import Synchronization

/// The pages that one call has received and that must not be stored (`no-store`), in order of arrival.
///
/// State, under a mutex: the pages. The run adds them, and the caller reads them after the run.
final class ServedPages: Sendable {
    struct Served: Sendable {
        /// The position of the page's first item.
        var offset: Int
        var page: FetchedPage

        var range: Range<Int> { offset..<offset + page.content.count }
    }

    private let pages = Mutex<[Served]>([])

    func note(_ event: SyncEvent) {
        guard case .notStored(let offset, let page) = event else { return }
        pages.withLock { $0.append(Served(offset: offset, page: page)) }
    }

    var all: [Served] { pages.withLock { $0 } }

    /// Removes all pages, because they do not fit each other.
    func restart() { pages.withLock { $0 = [] } }

    /// Whether an answer shows that the list has changed since these pages: it states another exact total, or has an
    /// item of theirs at another position.
    func contradict(_ page: FetchedPage, at offset: Int) -> Bool {
        let all = all
        if let known = all.compactMap(\.page.total.exactCount).last, known != page.total.exactCount ?? known {
            return true
        }
        var places: [UInt64: Int] = [:]
        for served in all {
            for (index, identity) in served.page.content.identities.enumerated() {
                places[identity.key] = served.offset + index
            }
        }
        return page.content.identities.enumerated().contains { index, identity in
            places[identity.key].map { $0 != offset + index } ?? false
        }
    }
}

extension SnapshotBuilder {
    /// Returns the stored window, with its items replaced by those of the unstored pages at the same positions. The
    /// unstored pages are newer.
    /// - Parameter bound: a position at and after which the list has no item, as the pages show. A bound below an exact
    ///   total or a readable item is ignored. `nil` means unknown.
    func merged(_ served: [ServedPages.Served], over stored: ItemWindow<Value>, bound: Int?) -> ItemWindow<Value> {
        var window = stored
        window.isStored = false
        for (offset, page) in served.map({ ($0.offset, $0.page) }) {
            let part = (offset..<offset + page.content.count).clamped(to: window.range)
            let decoded = decode(page.content.slice(part.lowerBound - offset..<part.upperBound - offset))
            window.remove(part)
            for stretch in decoded.stretches { window.fill(stretch.values, at: part.lowerBound + stretch.index) }
            for index in decoded.unusable { window.unusable.append(position: part.lowerBound + index) }
            for index in decoded.undecodable { window.undecodable.append(position: part.lowerBound + index) }
            if page.total != .unknown {
                window.total = page.total
                window.end = page.total.exactCount
            }
            if offset == 0 { window.freshness = .stale }
        }
        let last = window.segments.last?.range.upperBound ?? 0
        // The bound is the end only if the item before it has arrived. Otherwise the list may end earlier.
        if let bound, bound >= window.total.exactCount ?? 0, bound >= last,
            bound == 0 || served.contains(where: { $0.range.contains(bound - 1) })
        {
            window.end = bound
        }
        let end = max(window.range.lowerBound, window.end ?? .max)
        window.missing = window.missing.map { $0.clamped(to: 0..<end) }.filter { !$0.isEmpty }
        return window
    }
}

extension ItemWindow {
    /// Removes these positions from all parts of the window.
    fileprivate mutating func remove(_ part: Range<Int>) {
        guard !part.isEmpty else { return }
        segments = segments.flatMap { run in
            run.range.without(part).map { range in
                let items = range.map { run.items[$0 - run.offset] }
                return ListSnapshot.Segment(offset: range.lowerBound, items: PagedItems([items]), isHeld: run.isHeld)
            }
        }
        missing = missing.flatMap { $0.without(part) }
        unusable = unusable.flatMap { $0.without(part) }
        undecodable = undecodable.flatMap { $0.without(part) }
    }

    /// Inserts items at positions that are empty.
    fileprivate mutating func fill(_ values: [Value], at position: Int) {
        let index = segments.firstIndex { $0.offset > position } ?? segments.endIndex
        segments.insert(ListSnapshot.Segment(offset: position, items: PagedItems([values]), isHeld: true), at: index)
        // Adjacent held segments become one.
        join(index + 1)
        join(index)
    }

    private mutating func join(_ index: Int) {
        guard index > 0, index < segments.endIndex, segments[index].isHeld, segments[index - 1].isHeld,
            segments[index - 1].range.upperBound == segments[index].offset
        else { return }
        segments[index - 1].items.append(Array(segments[index].items))
        segments.remove(at: index)
    }
}

extension Range<Int> {
    /// The parts of the range before and after `part`.
    fileprivate func without(_ part: Range<Int>) -> [Range<Int>] {
        guard overlaps(part) else { return [self] }
        return [
            lowerBound..<Swift.max(lowerBound, part.lowerBound), Swift.min(upperBound, part.upperBound)..<upperBound,
        ]
        .filter { !$0.isEmpty }
    }
}
