extension QueryRecord {
    /// Returns the record that a repair writes for a list whose record is damaged or lost. The record follows from the
    /// name and the pages. Of the damaged record, only the pin is kept, because the checksum does not tell which value
    /// is wrong. The next sync determines these values again.
    ///
    /// The revision is higher than that of each page and that of the damaged record. A plan for an earlier state is
    /// therefore superseded (R4). A wrong number in the damaged record only makes the new revision larger.
    /// - Parameters:
    ///   - damaged: the record as it was read.
    ///   - key: the name that is bound to the id of the record.
    ///   - pages: the intact pages of the list, of every generation.
    ///   - now: the storage's time of the repair.
    package static func rebuilt(
        _ damaged: QueryRecord, as key: QueryKey, from pages: [PageSummary], at now: Timestamp
    ) -> QueryRecord {
        // The list is as old as page one, or else as its oldest page, so that held items are shown.
        let oldest = pages.first { $0.offset == 0 } ?? pages.min { $0.validatedAt < $1.validatedAt }
        // Half of the largest revision that a record may hold.
        let possible = 0...StoredBounds.counters.upperBound / 2
        let revisions = (pages.map(\.revision) + [damaged.version.revision]).filter(possible.contains)
        return QueryRecord(
            id: damaged.id, key: key,
            version: ListVersion(
                generation: pages.map(\.generation).max() ?? 1, revision: (revisions.max() ?? 0) + 1),
            total: .unknown, end: nil, validatedAt: oldest?.validatedAt,
            createdAt: min(pages.map(\.fetchedAt).min() ?? now, now), allowsDuplicates: false,
            paging: QueryRecord.lostPaging, source: "",
            // A wrong pin removes nothing. Without its pin, pages of the list could be evicted.
            isPinned: damaged.isPinned,
            // The damaged record may have held an invalidation.
            invalidatedAt: oldest == nil ? nil : now)
    }
}
