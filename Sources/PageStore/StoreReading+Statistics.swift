import PageModel

extension StoreReading {
    func statistics() throws(StorageError) -> StoreStatistics {
        let tallies = try TallyTable.all(in: connection)
        let queries = try summaries().map {
            StoreStatistics.Query(summary: $0, tally: tallies[$0.outline.record.id] ?? RunTally())
        }
        let (free, isTooMuch) = try connection.pragma("freelist_count").multipliedReportingOverflow(
            by: connection.pragma("page_size"))
        return StoreStatistics(
            queries: queries, fileBytes: StoreFile.size(connection.path),
            logBytes: StoreFile.size(connection.path + "-wal"),
            freeBytes: isTooMuch ? 0 : Int(free), schema: Int(try connection.pragma("user_version")))
    }
}
