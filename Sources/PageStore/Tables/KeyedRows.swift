import PageModel

/// The readable rows of a table, in the order of their keys.
///
/// A scan returns keys in strictly ascending order. A key that does not ascend means that the b-tree is damaged. For
/// example, a cell pointer that repeats its neighbour returns one row twice and another one never. SQLite reports a
/// damaged page as SQLITE_CORRUPT and ends the scan. A seek beyond the keys of that page works again.
struct KeyedRows<Value> {
    /// A range of keys between two readable rows, with both ends excluded. At least one row in it cannot be read.
    struct Hole: Hashable {
        /// The key of the last readable row before the hole. `nil` means that there is none.
        var after: Int64?
        /// The key of the first readable row after the hole. `nil` means that there is none.
        var before: Int64?
    }

    private var keys: [Int64] = []
    private var values: [Value] = []
    private var greatest: Int64?
    /// Keys of rows with an invalid checksum, and keys next to which a row is missing.
    private var marks: [Int64] = []
    private var unreadable: [Range<Int64>] = []
    /// Whether a page of the file cannot be read, or keys do not ascend. An invalid checksum damages only its own row.
    private(set) var isTreeDamaged = false
    /// The key that was added last.
    private var latest: Int64?

    /// Adds the next row of a scan. `nil` means that its checksum is invalid.
    mutating func add(_ key: Int64, _ value: Value?) {
        if let greatest, key <= greatest {
            marks += [greatest, key]
            isTreeDamaged = true
        } else {
            greatest = key
        }
        addAside(key, value)
    }

    /// Adds a row that was read out of order, without comparing its key.
    private mutating func addAside(_ key: Int64, _ value: Value?) {
        latest = key
        guard let value else { return marks.append(key) }
        keys.append(key)
        values.append(value)
    }

    /// Returns the values, strictly ascending by key, and the holes between them.
    consuming func finish() -> (values: [Value], holes: [Hole]) {
        guard !marks.isEmpty || !unreadable.isEmpty else { return (values, []) }
        let order = keys.indices.sorted { (keys[$0], $0) < (keys[$1], $1) }
        var (sorted, distinct): ([Value], [Int64]) = ([], [])
        for index in order where distinct.last != keys[index] {
            distinct.append(keys[index])
            sorted.append(values[index])
        }
        /// Returns the number of smaller keys.
        func rank(_ key: Int64) -> Int {
            var (low, high) = (0, distinct.count)
            while low < high {
                let middle = (low + high) / 2
                if distinct[middle] < key { low = middle + 1 } else { high = middle }
            }
            return low
        }
        /// Returns the hole between the readable rows number `first - 1` and `last`.
        func hole(_ first: Int, _ last: Int) -> Hole {
            Hole(after: first > 0 ? distinct[first - 1] : nil, before: last < distinct.count ? distinct[last] : nil)
        }
        var holes: Set<Hole> = []
        for mark in Set(marks) {
            let place = rank(mark)
            guard place < distinct.count, distinct[place] == mark else {
                holes.insert(hole(place, place))
                continue
            }
            // A row that was returned twice has taken the place of a neighbour on one of its sides.
            holes.insert(hole(place + 1, place + 1))
            holes.insert(hole(place, place))
        }
        for range in unreadable { holes.insert(hole(rank(range.lowerBound), rank(range.upperBound))) }
        return (sorted, holes.sorted { ($0.after ?? .min, $0.before ?? .max) < ($1.after ?? .min, $1.before ?? .max) })
    }
}

extension KeyedRows {
    /// Reads a range of keys in one direction and calls `visit` with each row. Throws `damaged` at a page that cannot
    /// be read.
    typealias Scan = (Range<Int64>, _ visit: (Int64, Value?) -> Void) throws(StorageError) -> Void

    /// Reads `range` in ascending order. Where a page cannot be read, reads around it from both sides, and by seeks in
    /// between.
    ///
    /// Each seek halves the widest unread stretch. The method makes at most `probes` seeks. It therefore finds the rows
    /// between two damaged pages, unless these rows take too small a share of the range.
    mutating func read(_ range: Range<Int64>, probes: Int = 512, ascending: Scan, descending: Scan) throws(StorageError)
    {
        guard try !isRead(range, ascending) else { return }
        isTreeDamaged = true
        var search = Search(left: probes)
        // The rest begins after the rows that the first scan has read.
        let rest = (greatest.map { max($0 + 1, range.lowerBound) } ?? range.lowerBound)..<range.upperBound
        try readDownwards(rest, descending, &search)
        while let stretch = search.next() {
            let middle = search.middle(of: stretch)
            latest = nil
            let isWhole = try isReadAside(middle..<stretch.upperBound, ascending)
            let last = latest
            if !isWhole { search.add((last.map { $0 + 1 } ?? middle)..<stretch.upperBound) }
            try readDownwards(stretch.lowerBound..<middle, descending, &search)
        }
        unreadable += search.abandoned
        if search.isEmpty { marks.append(rest.lowerBound) }
    }

    private mutating func readDownwards(_ range: Range<Int64>, _ descending: Scan, _ search: inout Search)
        throws(StorageError)
    {
        guard !range.isEmpty else { return }
        latest = nil
        if try isReadAside(range, descending) { return }
        search.add(range.lowerBound..<(latest ?? range.upperBound))
    }

    /// Reads a range in order. Returns whether all of it was read.
    private mutating func isRead(_ range: Range<Int64>, _ scan: Scan) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try scan(range) { add($0, $1) }
            return true
        } catch {
            guard error.isUnreadableRow else { throw error }
            return false
        }
    }

    /// Reads a range out of order, without comparing keys. Returns whether all of it was read.
    private mutating func isReadAside(_ range: Range<Int64>, _ scan: Scan) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try scan(range) { addAside($0, $1) }
            return true
        } catch {
            guard error.isUnreadableRow else { throw error }
            return false
        }
    }

    /// The stretches of keys that are still to be read.
    private struct Search {
        private var stretches: [Range<Int64>] = []
        private(set) var abandoned: [Range<Int64>] = []
        private var left: Int
        var isEmpty: Bool { stretches.isEmpty && abandoned.isEmpty }
        /// The width above which a stretch counts as endless. The rows of such a stretch may fill only its beginning,
        /// where halving would not find them.
        private static var boundless: Int64 { 1 << 48 }

        init(left: Int) { self.left = left }

        mutating func add(_ stretch: Range<Int64>) {
            guard !stretch.isEmpty else { return abandoned.append(stretch) }
            if stretch.upperBound - stretch.lowerBound > 1 {
                stretches.append(stretch)
            } else {
                abandoned.append(stretch)
            }
        }

        mutating func next() -> Range<Int64>? {
            guard left > 0, !stretches.isEmpty else {
                abandoned += stretches
                stretches = []
                return nil
            }
            left -= 1
            let width = { (stretch: Range<Int64>) in min(stretch.upperBound - stretch.lowerBound, Search.boundless) }
            let widest = stretches.indices.max { width(stretches[$0]) < width(stretches[$1]) }!
            return stretches.remove(at: widest)
        }

        /// Returns the middle of a stretch. In an endless stretch, returns a place whose distance from the start of the
        /// stretch doubles with each call.
        mutating func middle(of stretch: Range<Int64>) -> Int64 {
            let width = stretch.upperBound - stretch.lowerBound
            guard width > Search.boundless else { return stretch.lowerBound + width / 2 }
            defer { reach = min(reach * 2, Search.boundless / 2) }
            return stretch.lowerBound + reach
        }

        private var reach: Int64 = 1
    }
}

extension StorageError {
    /// Whether the error means that a row, or its page of the file, cannot be read. Other rows may be readable.
    var isUnreadableRow: Bool { code == .damaged || code == .tooLarge }
}

extension PageRows {
    init(_ finished: (values: [PageRow], holes: [KeyedRows<PageRow>.Hole])) {
        self.init(finished.values, holes: finished.holes.map { ($0.after, $0.before) })
    }
}
