/// The ranges of the numbers in a storage.
///
/// A checksum proves that a row is unchanged since it was written, but not who wrote it. A number outside these bounds
/// makes its row damaged (R46): reads skip the row, and `verify` reports it. Within the bounds, a sum of two numbers
/// cannot overflow.
package enum StoredBounds {
    /// Positions in a list, and the position after the last item of a page: 0 to 2^53 (R44).
    package static let positions = 0...ListTotal.largest
    /// Sizes in items or bytes, and tallies: 0 to 2^53.
    package static let sizes = 0...ListTotal.largest
    /// The items or bytes of one page: 0 to 2^32, far more than a page can have. A sum over all pages of a store is
    /// then representable.
    package static let pageSizes = 0...(1 << 32)
    /// Numbers that commits count up: generations, revisions and attempts. The range is 0 to 2^52, so that the next
    /// number is representable, too.
    package static let counters = 0...(1 << 52)
    /// Milliseconds since 1970: 2^53 in either direction, about 285,000 years.
    package static let milliseconds = -Int64(ListTotal.largest)...Int64(ListTotal.largest)
    /// HTTP statuses: 0 to 999.
    package static let statuses = 0...999
    /// Booleans.
    package static let flags = 0...1

    /// Whether a page with this offset and count is possible.
    package static func holdsPage(at offset: Int, count: Int) -> Bool {
        positions.contains(offset) && sizes.contains(count) && count <= ListTotal.largest - offset
    }

    package static func contains(_ moment: Timestamp?) -> Bool {
        moment.map { milliseconds.contains($0.milliseconds) } ?? true
    }
}

extension Int {
    /// Returns the sum, or the largest number where the sum is not representable. For sums of stored numbers that no
    /// checksum covers (R46).
    package func addingCapped(_ other: Int) -> Int {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}

extension Timestamp {
    /// The moment in the form that a storage keeps: the nearest one within ``StoredBounds/milliseconds``.
    package var stored: Timestamp {
        let bounds = StoredBounds.milliseconds
        return Timestamp(milliseconds: min(max(milliseconds, bounds.lowerBound), bounds.upperBound))
    }
}
