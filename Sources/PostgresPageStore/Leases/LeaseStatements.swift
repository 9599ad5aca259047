#if PostgreSQL
import PageModel

/// The statements that take and renew leases (R30).
enum LeaseStatements {
    /// The server's time in milliseconds. Rounded down, so that no lease ends before its time.
    static let serverTime = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    private static let latest = "least(m.now + $5, \(StoredBounds.milliseconds.upperBound))"
    /// The number of random bits at the low end of a token. The higher bits are a number of the sequence.
    static let randomBits = 20

    /// The random part of the tokens of one request.
    static func nonce() -> Int64 { Int64.random(in: 0..<1 << randomBits) }

    /// Limits a scan of the records `l` to the offsets of the request. The server plans the statement once, when the
    /// table is new and seems to be empty. Without this condition, such a plan may read all records of the list.
    private static let isNear = """
        l.start >= (SELECT min(o) FROM unnest($2::bigint[]) AS o) AND l.start <= (SELECT max(o) FROM unnest($2::bigint[]) AS o)
        """

    // The time is that of the caller's clock ($6 and $7), or of the server's clock if these are NULL. A repetition of
    // the same request, after a lost connection, takes its own leases again: they have the same random part ($9). No
    // lease is taken when the heartbeat of the process has expired, because the lease would be void.
    private static let taking = SQL(
        """
        WITH m AS MATERIALIZED (SELECT coalesce($6::bigint, \(serverTime)) AS now, coalesce($7::bigint, \(serverTime)) AS up,
            EXISTS (SELECT 1 FROM @owner WHERE name = $3 AND alive_until > clock_timestamp()) AS is_alive),
        free AS MATERIALIZED (
            SELECT w.start, w.n, l.start IS NOT NULL AS is_known, nextval('@lease_token') * \(1 << randomBits) + $9 AS token
            FROM (SELECT * FROM unnest($2::bigint[]) WITH ORDINALITY AS w(start, n) ORDER BY n) AS w CROSS JOIN m
            LEFT JOIN @ledger AS l ON l.query = $1 AND l.start = w.start AND \(isNear)
            WHERE m.is_alive AND EXISTS (SELECT 1 FROM @query WHERE id = $1) AND (
                l.start IS NULL OR NOT \(LedgerStatements.counts(uptime: "m.up", boot: "$8"))
                OR l.lease_process = $3 AND l.lease_name = $4 AND (l.lease_token & \((1 << randomBits) - 1)) = $9)
        ), taken AS (
            UPDATE @ledger AS l SET attempts = CASE l.state WHEN 'ok' THEN 1
                    ELSE least(greatest(l.attempts, 0), \(StoredBounds.counters.upperBound - 1)) + 1 END,
                state = 'in_flight', last_attempt_at = m.now,
                next_attempt_at = CASE WHEN l.error_retryable THEN \(latest) END, lease_token = f.token,
                lease_process = $3, lease_name = $4, lease_until = m.up + $5, lease_boot = $8
            FROM free AS f, m WHERE l.query = $1 AND l.start = f.start AND \(isNear) AND f.is_known
        ), made AS (
            INSERT INTO @ledger (query, start, state, attempts, last_attempt_at, lease_token, lease_process, lease_name,
                lease_until, lease_boot)
            SELECT $1, f.start, 'in_flight', 1, m.now, f.token, $3, $4, m.up + $5, $8 FROM free AS f, m WHERE NOT f.is_known
        )
        SELECT m.now, m.up, f.start, f.token, m.is_alive FROM m LEFT JOIN free AS f ON true ORDER BY f.n
        """)

    /// - Parameters:
    ///   - moment: the time of the grant. `nil` means the server's time when the statement runs.
    ///   - nonce: the random part of the tokens.
    static func take(
        _ request: LeaseRequest, of query: QueryID, by process: String, at moment: StorageMoment?, nonce: Int64
    ) -> WriteBatch.Request {
        var seen: Set<Int> = []
        let offsets = request.offsets.filter { seen.insert($0).inserted }.map { Int64($0) }
        return (
            taking,
            [
                .integer(query.rawValue), .integers(offsets), .text(process), .string(request.owner.name),
                .integer(milliseconds(request.duration)), .time(moment?.now),
                moment.map { .integer($0.uptime.milliseconds) } ?? .null,
                .text(moment?.uptime.boot ?? ServerClock.boot),
                .integer(nonce),
            ]
        )
    }

    /// Decodes the result of ``take(_:of:by:at:nonce:)``. `isAlive` is false if the heartbeat of the process had
    /// expired. Returns nil for a result without rows.
    static func taken(_ rows: Rows, boot: String) -> (leases: [Lease], moment: StorageMoment, isAlive: Bool)? {
        guard let first = rows.first else { return nil }
        let moment = StorageMoment(ServerClock(now: first.int64(0), uptime: first.int64(1), boot: boot))
        let leases = rows.all.compactMap { row -> Lease? in
            guard let start = row.optionalInt(2) else { return nil }
            return Lease(offset: start, token: LeaseToken(rawValue: row.int64(3)))
        }
        return (leases, moment, first.bool(4))
    }

    private static let renewing = SQL(
        """
        WITH m AS MATERIALIZED (SELECT coalesce($3::bigint, \(serverTime)) AS now, coalesce($4::bigint, \(serverTime)) AS up)
        UPDATE @ledger AS l SET lease_until = m.up + $2, lease_boot = $5,
            next_attempt_at = CASE WHEN next_attempt_at IS NOT NULL THEN least(m.now + $2, \(StoredBounds.milliseconds.upperBound)) END
        FROM m WHERE l.lease_token = ANY($1::bigint[]) RETURNING l.lease_token, l.start, m.now, m.up
        """)

    static func renew(_ tokens: [LeaseToken], for duration: Duration, at moment: StorageMoment?) -> WriteBatch.Request {
        (
            renewing,
            [
                .integers(tokens.map(\.rawValue)), .integer(milliseconds(duration)), .time(moment?.now),
                moment.map { .integer($0.uptime.milliseconds) } ?? .null,
                .text(moment?.uptime.boot ?? ServerClock.boot),
            ]
        )
    }

    /// Locks lists in the order of their ids, as every transaction over several lists does.
    static let lockingLists = SQL("SELECT id FROM @query WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE")

    private static func milliseconds(_ duration: Duration) -> Int64 {
        min(max(duration.wholeMilliseconds, 0), StoredBounds.milliseconds.upperBound / 2)
    }
}

/// One reading of the clock of a statement: the server's, or the clock of the caller. Ages count from its wall time, and
/// the ends of leases from its uptime. The server's clock has only a wall time, which counts as its uptime, too.
struct ServerClock: StorageClock {
    static let boot = "server"
    private let wall: Timestamp
    private let sinceBoot: Uptime

    init(now: Int64, uptime: Int64? = nil, boot: String = ServerClock.boot) {
        wall = Timestamp(milliseconds: now)
        sinceBoot = Uptime(milliseconds: uptime ?? now, boot: boot)
    }

    func now() -> Timestamp { wall }
    func uptime() -> Uptime { sinceBoot }
}
#endif
