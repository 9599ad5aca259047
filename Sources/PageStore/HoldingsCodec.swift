import PageModel

/// The bytes of a list's holdings in the newest row of its journal: eight little-endian bytes each for the number of
/// held pages, that of older pages, and the two bounds of every run.
enum HoldingsCodec {
    static func encode(_ holdings: ListHoldings) -> [UInt8] {
        let runs = holdings.held.runs
        // Each commit makes one: in one piece of memory.
        return [UInt8](unsafeUninitializedCapacity: 16 * (1 + runs.count)) { bytes, count in
            func append(_ number: Int) {
                let raw = UnsafeMutableRawBufferPointer(bytes)
                raw.storeBytes(of: Int64(number).littleEndian, toByteOffset: count, as: Int64.self)
                count += 8
            }
            append(holdings.pages)
            append(holdings.olderPages)
            for run in runs {
                append(run.lowerBound)
                append(run.upperBound)
            }
        }
    }

    /// Returns nil when the bytes are none that `encode` makes.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> ListHoldings? {
        guard bytes.count.isMultiple(of: 16), bytes.count >= 16, bytes.count <= 16 * (1 + ListHoldings.mostRuns) else {
            return nil
        }
        let numbers = stride(from: 0, to: bytes.count, by: 8).map {
            Int(Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: Int64.self)))
        }
        // A seal shows that a row is as it was written, and not who wrote it (R46).
        guard numbers.allSatisfy({ StoredBounds.positions.contains($0) }) else { return nil }
        var runs: [Range<Int>] = []
        for index in stride(from: 2, to: numbers.count, by: 2) {
            guard numbers[index] < numbers[index + 1], numbers[index] > runs.last?.upperBound ?? -1 else { return nil }
            runs.append(numbers[index]..<numbers[index + 1])
        }
        return ListHoldings(held: Coverage(runs), pages: numbers[0], olderPages: numbers[1])
    }
}
