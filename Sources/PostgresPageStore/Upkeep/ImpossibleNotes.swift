#if PostgreSQL
import PageModel

/// Numbers in rows without a seal that are out of range. A repair removes them. Lost read times change only the order
/// of eviction. The count of lease tokens starts again at a random number, which is safe because every token has a
/// random part, too.
enum ImpossibleNotes {
    private static let condition = """
        FROM @access WHERE used_at
        NOT BETWEEN \(StoredBounds.milliseconds.lowerBound) AND \(StoredBounds.milliseconds.upperBound)
        """
    private static let countingReads = SQL("SELECT count(*) \(condition)")
    // Reads the view, because a role that may only read the tables may not read the sequence.
    private static let countingTokens = SQL(
        """
        SELECT count(*) FROM pg_sequences WHERE schemaname = $1 AND sequencename = 'lease_token'
        AND last_value > \(Int64.max >> (LeaseStatements.randomBits + 1))
        """)
    private static let deletingReads = SQL("DELETE \(condition)")
    private static let restartingTokens = SQL("SELECT setval('@lease_token', $1)")

    static func findings(in schema: String, _ work: WriteBatch) async throws(StorageError) -> [Finding] {
        let counts = try await work.read([(countingReads, []), (countingTokens, [.text(schema)])])
        let reads = counts[0].first?.int(0) ?? 0
        let tokens = counts[1].first?.int(0) ?? 0
        var findings: [Finding] = []
        if reads > 0 {
            findings.append(Finding(.access, "\(reads) \(reads == 1 ? "read time" : "read times") out of range"))
        }
        if tokens > 0 { findings.append(Finding(.ledger, "the count of lease tokens is out of range")) }
        return findings
    }

    /// Whether a finding of `verify` is one of ``findings(in:_:)``.
    static func includes(_ finding: Finding) -> Bool {
        finding.kind == .access || (finding.kind == .ledger && finding.query == nil)
    }

    /// Returns the requests that remove the causes of these findings.
    static func removing(_ findings: [Finding]) -> [WriteBatch.Request] {
        var requests: [WriteBatch.Request] = []
        for finding in findings where includes(finding) {
            if finding.kind == .access {
                requests.append((deletingReads, []))
            } else {
                requests.append((restartingTokens, [.integer(.random(in: 1..<1 << 32))]))
            }
        }
        return requests
    }
}
#endif
