// The names of members and headers that count a list.
extension Detector {
    /// The rank of a name as the name of a total, from 1 to 4. Rank 4 is the clearest. Returns nil for any other name.
    static func rank(_ name: String) -> Int? {
        var plain = EnvelopeMember.plain(name)
        // `totalPages` counts pages. `scannedCount` and `returnedCount` count this page, and `remainingCount` counts
        // the rest.
        if ["page", "length", "time", "rate", "limit", "remaining", "scanned", "returned"].contains(where: {
            plain.contains($0)
        }) {
            return nil
        }
        if plain.hasPrefix("x") { plain.removeFirst() }
        if plain.hasPrefix("wp") { plain.removeFirst(2) }
        if [
            "total", "totalcount", "totalitems", "totalresults", "totalrecords", "totalelements", "totalobjects",
            "totalhits", "totalsize", "numbermatched", "totalmatched",
            "totalfound", "totalavailable",
            "odata.count", "nbresults", "numresults", "numberofresults", "numberofitems",
        ].contains(plain) {
            return 4
        }
        if ["count", "itemscount", "numfound", "hits", "nbhits", "matched", "found", "countall"].contains(plain) {
            return 3
        }
        if plain.hasSuffix("count") { return 2 }
        return plain.contains("total") || ["items", "results", "records", "rows", "entries"].contains(plain) ? 1 : nil
    }

    /// Whether a name says that the number is an estimate.
    static func soundsEstimated(_ name: String) -> Bool {
        let plain = EnvelopeMember.plain(name)
        return ["estimat", "approx", "atleast", "lowerbound", "minimum"].contains { plain.contains($0) }
    }
}
