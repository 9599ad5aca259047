import PageModel

extension Verification {
    /// The damage by table.
    struct Damage {
        struct Place: Hashable {
            var query: QueryID
            var offset: Int
        }

        /// Pages to drop. Their records are intact.
        var pages: [Place] = []
        /// Offsets in damaged page records.
        var rows: [Place] = []
        /// Pages whose item hashes must be rebuilt.
        var identities: [Place] = []
        var queries: [ChecksummedQuery] = []
        /// Names that are bound to the ids of damaged or lost records.
        var names: [QueryID: QueryKey] = [:]
        /// The ids in `names` whose records are lost.
        var lost: [QueryID] = []
        /// Records with the name of another record, which is kept.
        var namesakes: [QueryID] = []
        var ledger: [Place] = []
        /// Lists whose journals must restart.
        var journals: [QueryID] = []
        /// Lists whose holdings must be recounted.
        var holdings: [QueryID] = []
        var isFileDamaged = false
        /// Whether rows cannot be read, or do not ascend, or two trees may share a page. The readable rows must then be
        /// copied to another file, before a deletion in a damaged tree deletes more rows.
        var isTreeDamaged = false
        var hasImpossibleNotes = false
        /// Whether the records of the applied migrations, or the stamp of the store, are damaged. The schema itself is
        /// intact; otherwise the store would not have been opened (R46).
        var hasLostNotes = false
        var hasOrphans = false
    }
}
