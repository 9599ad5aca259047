import PageModel

/// Answers that reach beyond the origin's own exact total. Some origins return the last full page for a position close
/// to the end, and some begin again with the first items (R24).
extension SyncRun {
    /// The meaning of an answer that reaches beyond the total.
    enum BeyondTotal {
        /// These items belong to the positions from `start` on.
        case page(FetchedPage, start: Int)
        /// The meaning depends on the items before the position, which are not held. The answer is dropped, and the
        /// position is requested again once these items are held.
        case undecided
    }

    /// Returns the meaning of an answer that has more items than its exact total leaves room for. Returns nil for any
    /// other answer. Also returns nil when the answer is neither the last full page nor continues with the first items:
    /// the total is then wrong (R20). A report of more items does not change the meaning, because it concerns only the
    /// end (R24).
    /// - Parameters:
    ///   - page: the answer.
    ///   - start: the requested position, including the overlap.
    ///   - range: the requested positions, without the overlap.
    ///   - list: the list.
    func beyondTotal(
        _ page: FetchedPage, at start: Int, of range: Range<Int>, _ list: ListOutline
    ) async throws(StorageError) -> BeyondTotal? {
        let count = page.content.count
        guard let total = page.total.exactCount, total == list.record.total.exactCount, start < total,
            start + count > total, count <= total, page.next == nil
        else { return nil }
        // If the answer is the last full page, its first items are those before the requested position.
        let identities = page.content.identities
        let known = total - count..<start
        guard let before = try await storage.excerpt(of: list.record.id, known), isStillThere(before) else {
            return nil
        }
        let isKnown = before.coverage.gaps(in: known).isEmpty
        if isKnown {
            if try await agrees(Array(identities.prefix(known.count)), known, [], before) {
                return .page(page, start: known.lowerBound)
            }
        } else if queue.inFlight.contains(where: { $0.isPage && $0.offset < start }) {
            return .undecided
        }
        // If the answer continues with the first items, all items after the total are held at other positions.
        let beyond = Set(identities.dropFirst(total - start).map(\.key))
        guard try await storage.locate(beyond, in: list.record.id).count == beyond.count else {
            if isKnown { return nil }
            askBefore(range, known)
            return .undecided
        }
        var first = page
        first.content = page.content.slice(0..<total - start)
        return .page(first, start: start)
    }

    /// Requests the items before a position, once. If these items do not arrive, the position is not requested again in
    /// this pass, because no answer shows which items belong there.
    private func askBefore(_ range: Range<Int>, _ known: Range<Int>) {
        guard pass.fill.realigns(range.lowerBound) else { return pass.fill.observe(withoutNewItems: range.lowerBound) }
        guard case .grid(let size) = source.access else { return queue.add([.range(known, overlap: 0)]) }
        let first = known.lowerBound / size * size
        queue.add([.range(first..<first + size, overlap: 0)])
    }
}
