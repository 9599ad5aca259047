import PageModel

/// A row of `page`: the metadata of a page, and the id of the body with its items.
struct PageRow: Equatable {
    var summary: PageSummary
    var body: Int64
    /// The checksum of the body's layout and of its items' hashes.
    var checksum: UInt64
    /// The size of the body in bytes: layout and payload together.
    var bytes: Int

    /// Computes the seal of this row in this query.
    func seal(in query: QueryID) -> UInt64 {
        var seal = Seal(Seal.page)
        seal.mix(query.rawValue)
        seal.mix(summary.offset)
        seal.mix(summary.count)
        seal.mix(body)
        seal.mix(checksum)
        seal.mix(bytes)
        seal.mix(summary.generation)
        seal.mix(summary.revision)
        seal.mix(summary.evidence.rawValue)
        seal.mix(summary.evidenceAt.milliseconds)
        if summary.innerInferredSeams.isEmpty {
            seal.mixNull()
        } else {
            PageRow.encode(summary.innerInferredSeams).withUnsafeBytes { seal.mix($0) }
        }
        seal.mix(summary.fetchedAt.milliseconds)
        seal.mix(summary.validatedAt.milliseconds)
        seal.mix(summary.fingerprint)
        seal.mix(summary.cursorIn?.text)
        seal.mix(summary.cursorOut?.text)
        seal.mix(summary.validator?.request)
        seal.mix(summary.validator?.entityTag)
        seal.mix(summary.validator?.lastModified)
        seal.mix(summary.validator?.coversTotal ?? false ? 1 : 0)
        return seal.value
    }

    /// Decodes a row selected with `PageTable.columns`. Returns nil when its seal is invalid, or when a number is
    /// outside `StoredBounds`.
    init?(_ row: borrowing Row, of query: QueryID) {
        var seal = Seal(Seal.page)
        seal.mix(query.rawValue)
        row.mix(19, into: &seal)
        guard seal.value == row.hash(19) else { return nil }
        guard let seams = row.withBlob(9, { PageRow.decodeSeams($0) }), StoredBounds.flags.contains(row.int(18)) else {
            return nil
        }
        let validator = row.optionalText(15).map {
            Validator(
                request: $0, entityTag: row.optionalText(16), lastModified: row.optionalText(17),
                coversTotal: row.bool(18))
        }
        summary = PageSummary(
            offset: row.int(0), count: row.int(1), generation: row.int(5), revision: row.int(6),
            evidence: row.isText(7, "verified") ? .verified : .inferred, evidenceAt: row.time(8),
            innerInferredSeams: seams, fetchedAt: row.time(10), validatedAt: row.time(11), fingerprint: row.hash(12),
            cursorIn: row.optionalText(13).map { PageCursor($0) },
            cursorOut: row.optionalText(14).map { PageCursor($0) },
            validator: validator)
        body = row.int64(2)
        checksum = row.hash(3)
        bytes = row.int(4)
        // A crafted row may have a valid seal, so its numbers are checked, too (R46).
        guard StoredBounds.holdsPage(at: summary.offset, count: summary.count), StoredBounds.sizes.contains(bytes),
            StoredBounds.counters.contains(summary.generation), StoredBounds.counters.contains(summary.revision),
            StoredBounds.contains(summary.evidenceAt), StoredBounds.contains(summary.fetchedAt),
            StoredBounds.contains(summary.validatedAt),
            seams.allSatisfy({ $0.index <= summary.count && StoredBounds.contains($0.since) })
        else { return nil }
    }

    init(summary: PageSummary, body: Int64, checksum: UInt64, bytes: Int) {
        self.summary = summary
        self.body = body
        self.checksum = checksum
        self.bytes = bytes
    }

    static func encode(_ seams: [InnerSeam]) -> [UInt8] {
        seams.flatMap { seam in
            withUnsafeBytes(of: UInt32(clamping: seam.index).littleEndian, Array.init)
                + withUnsafeBytes(of: seam.since.milliseconds.littleEndian, Array.init)
        }
    }

    private static func decodeSeams(_ bytes: UnsafeRawBufferPointer) -> [InnerSeam]? {
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
