#if PostgreSQL
import PageModel

/// Rows of `access`: the times at which pages were last read (R40).
enum AccessRow {
    static let noting = SQL(
        """
        INSERT INTO @access (query, body, used_at) SELECT $1, id, $3 FROM unnest($2::bigint[]) AS id
        ON CONFLICT (query, body) DO UPDATE SET used_at = greatest(access.used_at, excluded.used_at)
        """)
    /// Notes reads of several lists. Leaves out bodies that are not stored any more.
    static let notingAll = SQL(
        """
        INSERT INTO @access (query, body, used_at)
        SELECT b.query, b.id, $3 FROM unnest($1::bigint[], $2::bigint[]) AS r(query, body)
        JOIN @body AS b ON b.query = r.query AND b.id = r.body ORDER BY b.query, b.id
        ON CONFLICT (query, body) DO UPDATE SET used_at = greatest(access.used_at, excluded.used_at)
        """)
}
#endif
