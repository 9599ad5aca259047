/// The difference between the items of two snapshots, for table views. Items are recognised by their `id`.
///
/// A table view removes `removals`, from the last one to the first, then inserts `insertions`, from the first one to
/// the last, and then reloads `updates`. The indices of `removals` count the old items; those of `insertions` and
/// `updates` count the new ones, after both steps. An item that moved is removed and inserted.
public struct ItemsDifference: Hashable, Sendable {
    /// Indices in the old items, ascending.
    public var removals: [Int] = []
    /// Indices in the new items, ascending.
    public var insertions: [Int] = []
    /// Indices in the new items whose values changed, ascending.
    public var updates: [Int] = []

    /// Whether both snapshots show the same items.
    public var isEmpty: Bool { removals.isEmpty && insertions.isEmpty && updates.isEmpty }

    /// Creates the difference from `old` to `new`. Pages that two snapshots share at the beginning are not compared. Of
    /// the other items, those of an equal beginning and an equal end are compared once. If the numbers of items in
    /// between have a product above 4,000,000, the difference replaces all of these items.
    public init<Value: Identifiable & Equatable>(from old: PagedItems<Value>, to new: PagedItems<Value>) {
        let both = min(old.count, new.count)
        let shared = old.sharedCount(with: new)
        var head = shared
        while head < both, old[head].id == new[head].id { head += 1 }
        var tail = 0
        while tail < both - head, old[old.count - 1 - tail].id == new[new.count - 1 - tail].id { tail += 1 }
        updates = (shared..<head).filter { old[$0] != new[$0] }
        let (before, after) = (head..<old.count - tail, head..<new.count - tail)
        // The search for the shortest difference takes time in proportion to the product of both counts.
        if before.isEmpty || after.isEmpty || before.count * after.count > 4_000_000 {
            (removals, insertions) = (Array(before), Array(after))
        } else {
            let steps = after.map { new[$0].id }.difference(from: before.map { old[$0].id })
            removals = steps.removals.map { $0.offset + head }
            insertions = steps.insertions.map { $0.offset + head }
            let (gone, come) = (Set(removals), Set(insertions))
            let kept = zip(before.filter { !gone.contains($0) }, after.filter { !come.contains($0) })
            updates += kept.filter { old[$0] != new[$1] }.map(\.1)
        }
        updates += (0..<tail).map { new.count - tail + $0 }.filter { old[$0 - new.count + old.count] != new[$0] }
    }
}

extension CollectionDifference.Change {
    fileprivate var offset: Int {
        switch self {
        case .insert(let offset, _, _), .remove(let offset, _, _): offset
        }
    }
}

/// A snapshot, and the difference of its items from those of the snapshot before.
public struct ListUpdate<Value: Sendable>: Sendable {
    /// The new snapshot.
    public var snapshot: ListSnapshot<Value>
    /// The difference from the items of the previous update. In the first update all items are insertions.
    public var difference: ItemsDifference
}

/// The snapshots of a list with the differences between them.
public struct ListUpdates<Value: Identifiable & Equatable & Sendable>: AsyncSequence, Sendable {
    let snapshots: AsyncStream<ListSnapshot<Value>>

    /// Iterates over the updates, in order.
    public struct Iterator: AsyncIteratorProtocol {
        var snapshots: AsyncStream<ListSnapshot<Value>>.Iterator
        var shown = PagedItems<Value>()

        /// Returns the next update. Returns nil when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ListUpdate<Value>? {
            guard let snapshot = await snapshots.next(isolation: actor) else { return nil }
            defer { shown = snapshot.items }
            return ListUpdate(snapshot: snapshot, difference: ItemsDifference(from: shown, to: snapshot.items))
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(snapshots: snapshots.makeAsyncIterator()) }
}

extension PagedList where Value: Identifiable & Equatable {
    /// A stream of snapshots with the differences between them, for table views: for next pages, refreshes and changes
    /// by other tasks and processes. A slow listener receives the newest snapshot, with the difference from the last
    /// one that it received. Snapshots without a change of items have an empty difference.
    public var updates: ListUpdates<Value> { ListUpdates(snapshots: snapshots) }
}
