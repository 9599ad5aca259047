/// Encodes the holdings of a list for the newest row of its journal. Each number takes eight little-endian bytes: the
/// number of held pages, the number of older pages, then the two bounds of every segment.
package enum HoldingsCodec {
    package static func encode(_ holdings: ListHoldings) -> [UInt8] {
        let segments = holdings.held.segments
        // Every commit encodes holdings, so the bytes are written into one allocation.
        return [UInt8](unsafeUninitializedCapacity: 16 * (1 + segments.count)) { bytes, count in
            func append(_ number: Int) {
                let raw = UnsafeMutableRawBufferPointer(bytes)
                raw.storeBytes(of: Int64(number).littleEndian, toByteOffset: count, as: Int64.self)
                count += 8
            }
            append(holdings.pages)
            append(holdings.olderPages)
            for segment in segments {
                append(segment.lowerBound)
                append(segment.upperBound)
            }
        }
    }

    /// Decodes holdings. Returns nil when `encode` cannot have written the bytes.
    package static func decode(_ bytes: UnsafeRawBufferPointer) -> ListHoldings? {
        guard bytes.count.isMultiple(of: 16), bytes.count >= 16, bytes.count <= 16 * (1 + ListHoldings.mostSegments)
        else {
            return nil
        }
        let numbers = stride(from: 0, to: bytes.count, by: 8).map {
            Int(Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: Int64.self)))
        }
        // A seal shows that a row is unchanged, but not which program wrote it. The numbers are therefore checked
        // (R46).
        guard numbers.allSatisfy({ StoredBounds.positions.contains($0) }) else { return nil }
        var segments: [Range<Int>] = []
        for index in stride(from: 2, to: numbers.count, by: 2) {
            guard numbers[index] < numbers[index + 1], numbers[index] > segments.last?.upperBound ?? -1 else {
                return nil
            }
            segments.append(numbers[index]..<numbers[index + 1])
        }
        return ListHoldings(held: Coverage(segments), pages: numbers[0], olderPages: numbers[1])
    }
}
