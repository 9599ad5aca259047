/// The record of a query, with its stored checksums.
package struct ChecksummedQuery {
    package var record: QueryRecord
    package var nameHash: UInt64
    package var seal: UInt64
    private var sealHolds = true
    /// Whether the columns that the record cannot represent exactly were within their bounds.
    private var isInBounds = true

    /// Whether the record is unchanged, and all its numbers are possible.
    package var isWhole: Bool {
        sealHolds && hasItsName && isInBounds
            && [record.total.count, record.end, record.sweep?.position, record.resultWindow].allSatisfy {
                StoredBounds.positions.contains($0 ?? 0)
            }
            && [record.version.generation, record.version.revision].allSatisfy { StoredBounds.counters.contains($0) }
            && [
                record.createdAt, record.validatedAt, record.invalidatedAt, record.sweep?.startedAt, record.lastAuditAt,
            ].allSatisfy { StoredBounds.contains($0) }
            && record.freshFor == record.freshFor?.keptFreshness
    }

    /// Whether at least id, scope and key are unchanged.
    package var hasItsName: Bool { nameHash == ChecksummedQuery.nameHash(of: record.key, record.id) }

    package init(_ record: QueryRecord) {
        self.record = record
        nameHash = ChecksummedQuery.nameHash(of: record.key, record.id)
        seal = 0
        seal = computedSeal
    }

    /// The duration in milliseconds, as it is stored.
    package var freshFor: Int? { record.freshFor.map { Int($0.wholeMilliseconds) } }

    package var totalKind: String {
        switch record.total {
        case .exact: "exact"
        case .estimate: "estimate"
        case .unknown: "unknown"
        }
    }

    /// A record as it was read.
    /// - Parameters:
    ///   - nameHash: the stored hash of its name.
    ///   - seal: the stored seal.
    ///   - sealHolds: whether the seal is that of the read columns.
    ///   - isInBounds: whether the columns that the record cannot represent exactly were within their bounds.
    package init(_ record: QueryRecord, nameHash: UInt64, seal: UInt64, sealHolds: Bool, isInBounds: Bool) {
        self.record = record
        self.nameHash = nameHash
        self.seal = seal
        self.sealHolds = sealHolds
        self.isInBounds = isInBounds
    }

    /// Computes the checksum that binds a name to an id.
    package static func nameHash(of key: QueryKey, _ id: QueryID) -> UInt64 {
        var seal = RowChecksum(RowChecksum.query)
        seal.mix(id.rawValue)
        seal.mix(key.scope)
        seal.mix(key.text)
        return seal.value
    }

    private var computedSeal: UInt64 {
        var seal = RowChecksum(RowChecksum.query)
        seal.mix(record.id.rawValue)
        seal.mix(record.key.scope)
        seal.mix(record.key.text)
        seal.mix(nameHash)
        seal.mix(record.version.generation)
        seal.mix(record.version.revision)
        seal.mix(totalKind)
        seal.mix(record.total.count)
        seal.mix(record.end)
        seal.mix(record.createdAt.milliseconds)
        seal.mix(record.validatedAt)
        seal.mix(record.allowsDuplicates ? 1 : 0)
        seal.mix(record.paging)
        seal.mix(record.source)
        seal.mix(record.sweep?.position)
        seal.mix(record.sweep?.cursor?.text)
        seal.mix(record.sweep?.startedAt)
        seal.mix(record.isPinned ? 1 : 0)
        seal.mix(record.invalidatedAt)
        seal.mix(freshFor)
        seal.mix(record.resultWindow)
        seal.mix(record.lastAuditAt)
        seal.mix(record.isUnproven ? 1 : 0)
        return seal.value
    }
}
