/// The trusted pages of a list: intact rows, strictly ascending by offset, without overlap (R5).
package struct PageRows {
    package private(set) var rows: [PageRow]
    /// Positions whose page records cannot be read or are not trusted, ascending. An empty range marks damage that
    /// hides no position. The last range ends at `Int.max` where no readable page follows.
    package private(set) var damaged: [Range<Int>]

    package init() {
        rows = []
        damaged = []
    }

    /// A stretch of offsets between two readable rows, with both ends excluded. At least one row in it cannot be read.
    /// `nil` means that there is no readable row on that side.
    package typealias Hole = (after: Int64?, before: Int64?)

    /// - Parameters:
    ///   - values: the intact rows, strictly ascending by offset.
    ///   - holes: the holes between them.
    package init(_ values: [PageRow], holes: [Hole]) {
        guard !holes.isEmpty || PageRows.hasOverlap(values) else {
            rows = values
            damaged = []
            return
        }
        var rows: [PageRow] = []
        var damaged: [Range<Int>] = []
        var end = 0
        for row in values {
            guard row.summary.offset >= end else {
                damaged.append(min(end, row.summary.range.upperBound)..<row.summary.range.upperBound)
                continue
            }
            rows.append(row)
            end = row.summary.range.upperBound
        }
        for hole in holes {
            // The row before the hole may overlap another row and so be missing from `rows`.
            let lower =
                hole.after.map { key in rows.last { $0.summary.offset <= Int(key) }?.summary.range.upperBound ?? 0 }
                ?? 0
            let upper = hole.before.map { Int($0) } ?? .max
            damaged.append(min(lower, upper)..<max(lower, upper))
        }
        self.rows = rows
        let held = Coverage(rows.map(\.summary.range))
        self.damaged = PageRows.merged(damaged, without: held)
    }

    /// Removes the rows and the damage outside of `range`.
    package mutating func restrict(to range: Range<Int>) {
        rows = rows.filter { $0.summary.meets(range) }
        guard !damaged.isEmpty else { return }
        damaged = damaged.filter { $0.isEmpty ? range.contains($0.lowerBound) : $0.overlaps(range) }.map {
            $0.clamped(to: range)
        }
    }

    private static func hasOverlap(_ rows: [PageRow]) -> Bool {
        var end = 0
        for row in rows {
            guard row.summary.offset >= end else { return true }
            end = row.summary.range.upperBound
        }
        return false
    }

    /// Returns the parts of `ranges` that no page holds, ascending. A range that is entirely held leaves an empty
    /// range, unless another part has positions.
    private static func merged(_ ranges: [Range<Int>], without held: Coverage) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        for range in ranges {
            let gaps = held.gaps(in: range)
            parts += gaps.isEmpty ? [range.lowerBound..<range.lowerBound] : gaps
        }
        var merged: [Range<Int>] = []
        for part in parts.sorted(by: { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }) {
            if let last = merged.last, part.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, part.upperBound)
            } else {
                merged.append(part)
            }
        }
        // Empty ranges only mark that there is damage. A range with positions marks that as well.
        let wide = merged.filter { !$0.isEmpty }
        return wide.isEmpty ? merged : wide
    }
}

extension PageSummary {
    /// Returns whether the page holds a position in `range`. A page without items meets each range that contains its
    /// offset, and the empty range at its offset.
    package func meets(_ range: Range<Int>) -> Bool {
        if count == 0 { return offset == range.lowerBound || range.contains(offset) }
        return self.range.overlaps(range)
    }
}
