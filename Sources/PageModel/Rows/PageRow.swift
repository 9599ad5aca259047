/// A row of `page`: the metadata of a page, and the id of the body with its items.
package struct PageRow: Equatable, Sendable {
    package var summary: PageSummary
    package var body: Int64
    /// The checksum of the body's layout and of its items' hashes.
    package var checksum: UInt64
    /// The size of the body in bytes: layout and payload together.
    package var bytes: Int

    package init(summary: PageSummary, body: Int64, checksum: UInt64, bytes: Int) {
        self.summary = summary
        self.body = body
        self.checksum = checksum
        self.bytes = bytes
    }

    /// Whether the numbers of the row are possible. A crafted row may have a valid seal (R46).
    package var isInBounds: Bool {
        StoredBounds.holdsPage(at: summary.offset, count: summary.count)
            && StoredBounds.pageSizes.contains(summary.count) && StoredBounds.pageSizes.contains(bytes)
            && StoredBounds.counters.contains(summary.generation) && StoredBounds.counters.contains(summary.revision)
            && StoredBounds.contains(summary.evidenceAt) && StoredBounds.contains(summary.fetchedAt)
            && StoredBounds.contains(summary.validatedAt)
            && summary.innerInferredSeams.allSatisfy { $0.index <= summary.count && StoredBounds.contains($0.since) }
    }

    package static func encode(_ seams: [InnerSeam]) -> [UInt8] {
        seams.flatMap { seam in
            withUnsafeBytes(of: UInt32(clamping: seam.index).littleEndian, Array.init)
                + withUnsafeBytes(of: seam.since.milliseconds.littleEndian, Array.init)
        }
    }

    package static func decodeSeams(_ bytes: UnsafeRawBufferPointer) -> [InnerSeam]? {
        guard bytes.count.isMultiple(of: 12) else { return nil }
        return (0..<bytes.count / 12).map { number in
            InnerSeam(
                index: Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: number * 12, as: UInt32.self))),
                since: Timestamp(
                    milliseconds: Int64(
                        littleEndian: bytes.loadUnaligned(fromByteOffset: number * 12 + 4, as: Int64.self))))
        }
    }
}
