import PageModel

extension PageRow {
    /// Computes the seal of this row in this query.
    func seal(in query: QueryID) -> UInt64 {
        var seal = RowChecksum(RowChecksum.page)
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
        var seal = RowChecksum(RowChecksum.page)
        seal.mix(query.rawValue)
        row.mix(19, into: &seal)
        guard seal.value == row.hash(19) else { return nil }
        guard let seams = row.withBlob(9, { PageRow.decodeSeams($0) }), StoredBounds.flags.contains(row.int(18)) else {
            return nil
        }
        // A validator without its request is no validator (R1). A rewrite of the row would store another seal.
        guard row.optionalText(15) != nil || row.optionalText(16) == nil && row.optionalText(17) == nil && !row.bool(18)
        else { return nil }
        let validator = row.optionalText(15).map {
            Validator(
                request: $0, entityTag: row.optionalText(16), lastModified: row.optionalText(17),
                coversTotal: row.bool(18))
        }
        let summary = PageSummary(
            offset: row.int(0), count: row.int(1), generation: row.int(5), revision: row.int(6),
            evidence: row.isText(7, "verified") ? .verified : .inferred, evidenceAt: row.time(8),
            innerInferredSeams: seams, fetchedAt: row.time(10), validatedAt: row.time(11), fingerprint: row.hash(12),
            cursorIn: row.optionalText(13).map { PageCursor($0) },
            cursorOut: row.optionalText(14).map { PageCursor($0) },
            validator: validator)
        self.init(summary: summary, body: row.int64(2), checksum: row.hash(3), bytes: row.int(4))
        guard isInBounds else { return nil }
    }
}
