#if Tool
import PageModel

/// The sentences of `verify --repair` about a full disk and about lost pins. Pure.
extension Verify {
    /// The ways to repair a store that `gc --rewrite` refuses. The error message before this hint names the number of
    /// bytes to free.
    static let makesRoomForRepair =
        "free that space and run 'pagecache verify --repair', or copy the closed store with its -wal to a disk with room and repair the copy with 'pagecache verify --repair --store COPY'"

    /// The ways to make room for a repair. Leaves out `gc --rewrite` for a store that `gc --rewrite` refuses. The error
    /// for such a store asks for free space for a copy of the rows.
    static func hint(withoutRoom error: StorageError) -> String {
        guard !error.message.contains("free space for a copy of its rows") else {
            return "\(makesRoomForRepair); stored pages are safe, and \(Purge.makesRoom)"
        }
        return
            "free some space; without a free byte, 'pagecache gc' with --max-bytes and --rewrite removes pages (see 'pagecache gc --help'); stored pages are safe, and \(Purge.makesRoom)"
    }

    /// The sentence about the queries that a repair has left without their pins. Returns nil if no pin was lost. The
    /// sentence names at most ten queries; the JSON names all.
    static func sentence(aboutPins lost: [QueryKey]) -> String? {
        guard !lost.isEmpty else { return nil }
        let named = lost.prefix(10).map(\.shortID).joined(separator: ", ")
        let rest = lost.count > 10 ? " and \(SizeText.count(lost.count - 10)) more" : ""
        let queries = SizeText.count(lost.count, "rebuilt query", "rebuilt queries")
        return "the pins of \(queries) could not be read: \(named)\(rest); 'pagecache pin ID' pins a query again"
    }
}
#endif
