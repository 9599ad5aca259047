/// The queries of a store, and what can be read of the damaged ones.
package struct StoredQueries: Sendable {
    /// A query whose record does not match its checksum.
    package struct Damaged: Sendable {
        package var id: QueryID
        /// The stored name. It may be the damaged part.
        package var key: QueryKey
        /// Whether the name is the one that was stored under this id.
        package var hasItsName: Bool
        /// The number of stored pages.
        package var pages: Int
        /// The bytes of the items in these pages, including their layout.
        package var bytes: Int

        package init(id: QueryID, key: QueryKey, hasItsName: Bool, pages: Int, bytes: Int) {
            self.id = id
            self.key = key
            self.hasItsName = hasItsName
            self.pages = pages
            self.bytes = bytes
        }
    }

    /// The intact records.
    package var records: [QueryRecord] = []
    /// The damaged records that can be read.
    package var damaged: [Damaged] = []
    /// Whether further records cannot be read.
    package var hasUnreadable = false

    package init() {}

    /// The number of damaged records. All unreadable ones count as one.
    package var damagedCount: Int { damaged.count + (hasUnreadable ? 1 : 0) }
}
