// The statements of Sources/PageStore, word for word, except for checksums and registering. A change there must be
// repeated here, or the ratio compares two different things.
#include "limit_internals.h"

#define PAGE_COLUMNS \
    "offset, count, body, checksum, bytes, generation, revision, evidence, evidence_at, seams, fetched_at, " \
    "validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total, seal"

#define QUERY_COLUMNS \
    "id, scope, key, name_hash, generation, revision, total_kind, total, list_end, created_at, validated_at, " \
    "allows_duplicates, paging, source, sweep_position, sweep_cursor, sweep_started_at, pinned, " \
    "invalidated_at, fresh_for, seal"

#define LEDGER_COLUMNS \
    "offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable, " \
    "http_status, error_message, retry_after_until, lease_token, lease_owner, lease_until, lease_boot"

// The end of a lease.
#define NO_LEASE "lease_token = NULL, lease_owner = NULL, lease_until = NULL, lease_boot = NULL"

// The statements that Shift.swift makes from the name of a table.
#define MOVING(prefix, table) \
    [prefix##_SCRATCH] = "CREATE TEMP TABLE IF NOT EXISTS moving_" table " AS SELECT * FROM main." table " WHERE 0", \
    [prefix##_BOUND_ABOVE] = \
        "SELECT offset FROM " table " WHERE query = ? AND offset >= ? AND offset < ? " \
        "ORDER BY offset DESC LIMIT 1 OFFSET ?", \
    [prefix##_BOUND_BELOW] = \
        "SELECT offset FROM " table " WHERE query = ? AND offset >= ? ORDER BY offset LIMIT 1 OFFSET ?", \
    [prefix##_DELETE] = "DELETE FROM " table " WHERE query = ? AND offset >= ? AND offset < ?", \
    [prefix##_PUT_BACK] = "INSERT INTO main." table " SELECT * FROM temp.moving_" table, \
    [prefix##_EMPTY] = "DELETE FROM temp.moving_" table

const char *const sql_text[SQL_COUNT] = {
    [BEGIN_READ] = "BEGIN DEFERRED",
    [BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [QUERY_BY_KEY] = "SELECT " QUERY_COLUMNS " FROM query WHERE scope = ? AND key = ?",
    [QUERY_BY_ID] = "SELECT " QUERY_COLUMNS " FROM query WHERE id = ?",
    [QUERY_INSERT] =
        "INSERT INTO query (scope, key, name_hash, generation, revision, total_kind, created_at, allows_duplicates, "
        "paging, source, pinned, unproven, seal) VALUES (?, ?, ?, 1, 0, 'unknown', ?, 0, '', '', 0, 0, ?)",
    [QUERY_REVISE] = "UPDATE query SET revision = ?2, seal = ?3 WHERE id = ?1",
    [PAGES_MEETING] =
        "SELECT " PAGE_COLUMNS " FROM page WHERE query = ?1 AND offset < ?3 "
        "AND offset >= coalesce((SELECT max(offset) FROM page WHERE query = ?1 AND offset <= ?2), 0) ORDER BY offset",
    [PAGE_AT] = "SELECT " PAGE_COLUMNS " FROM page WHERE query = ? AND offset = ?",
    [PAGE_STORE] =
        "INSERT OR REPLACE INTO page (query, " PAGE_COLUMNS ") "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PAGE_TOUCH] = "UPDATE page SET validated_at = ?, seal = ? WHERE query = ? AND offset = ?",
    [PAGE_OFFSETS] = "SELECT body, offset FROM page WHERE query = ?",
    [BODY_INSERT] = "INSERT INTO body (layout, payload) VALUES (?, ?)",
    [BODY_FIND] = "SELECT layout, payload FROM body WHERE id = ?",
    [IDENTITY_INSERT] = "INSERT OR REPLACE INTO identity (query, body, hashes, seal) VALUES (?, ?, ?, ?)",
    [IDENTITY_SCAN] = "SELECT body, hashes, seal FROM identity WHERE query = ?",
    [LEDGER_SUCCEED] =
        "INSERT INTO ledger (query, offset, state, attempts, last_attempt_at) VALUES (?1, ?2, 'ok', 1, ?3) "
        "ON CONFLICT DO UPDATE SET state = 'ok', first_failure_at = NULL, next_attempt_at = NULL, error_class = NULL, "
        "error_retryable = NULL, http_status = NULL, error_message = NULL, retry_after_until = NULL, "
        NO_LEASE,
    [LEDGER_FAIL] =
        "INSERT INTO ledger (query, offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, "
        "error_class, error_retryable, http_status, error_message, retry_after_until) "
        "VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
        "ON CONFLICT DO UPDATE SET state = ?3, first_failure_at = coalesce(first_failure_at, ?4), "
        "next_attempt_at = ?5, error_class = ?6, error_retryable = ?7, http_status = ?8, error_message = ?9, "
        "retry_after_until = ?10, " NO_LEASE,
    [LEDGER_DROP_FAILURES] =
        "DELETE FROM ledger WHERE query = ? AND offset >= ? AND offset < ? "
        "AND state IN ('failed_retryable', 'failed_permanent')",
    [LEDGER_HOLDER] =
        "SELECT lease_owner, lease_until FROM ledger WHERE query = ? AND offset = ? AND state = 'in_flight'",
    [LEDGER_TAKE] =
        "INSERT INTO ledger (query, offset, state, attempts, last_attempt_at, lease_token, lease_owner, lease_until, "
        "lease_boot) "
        // The end of the lease stands for its token, too: a number as long.
        "VALUES (?1, ?2, 'in_flight', 1, ?3, ?5, ?4, ?5, '00000000-0000-0000-0000-000000000000') "
        "ON CONFLICT DO UPDATE SET attempts = CASE state WHEN 'ok' THEN 1 ELSE attempts + 1 END, state = 'in_flight', "
        "last_attempt_at = ?3, next_attempt_at = CASE WHEN error_retryable THEN ?5 END, lease_token = ?5, "
        "lease_owner = ?4, lease_until = ?5, lease_boot = '00000000-0000-0000-0000-000000000000'",
    [LEDGER_DUE] =
        "SELECT " LEDGER_COLUMNS ", query FROM ledger INDEXED BY ledger_due "
        "WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?",
    MOVING(PAGES, "page"),
    [PAGES_TAKE] =
        "INSERT INTO temp.moving_page SELECT "
        "query, offset + ?4, count, body, checksum, bytes, generation, ?5, evidence, evidence_at, seams, fetched_at, "
        "validated_at, fingerprint, cursor_in, cursor_out, NULL, NULL, NULL, 0, ?6 "
        "FROM page WHERE query = ?1 AND offset >= ?2 AND offset < ?3",
    MOVING(LEDGER, "ledger"),
    [LEDGER_TAKE_ALONG] =
        "INSERT INTO temp.moving_ledger SELECT "
        "query, offset + ?4, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable, "
        "http_status, error_message, retry_after_until, lease_token, lease_owner, lease_until, lease_boot "
        "FROM ledger WHERE query = ?1 AND offset >= ?2 AND offset < ?3",
    [LEDGER_FORGET] = "DELETE FROM ledger WHERE query = ? AND offset = ? AND state = 'ok'",
    [PAGE_DELETE] = "DELETE FROM page WHERE query = ? AND offset = ?",
    [BODY_DELETE] = "DELETE FROM body WHERE id = ?",
    [ACCESS_DELETE] = "DELETE FROM access WHERE body = ?",
    [IDENTITY_DELETE] = "DELETE FROM identity WHERE query = ? AND body = ?",
    [EVICTION_SCAN] =
        "SELECT page.query, page.offset, page.bytes, max(page.fetched_at, coalesce(access.used_at, page.fetched_at)), "
        "query.pinned FROM page LEFT JOIN access ON access.body = page.body LEFT JOIN query ON query.id = page.query",
    [PURGE_ACCESSES] = "DELETE FROM access WHERE body IN (SELECT body FROM page WHERE query = ?)",
    [PURGE_BODIES] = "DELETE FROM body WHERE id IN (SELECT body FROM page WHERE query = ?)",
    [PURGE_IDENTITIES] = "DELETE FROM identity WHERE query = ?",
    [PURGE_PAGES] = "DELETE FROM page WHERE query = ?",
    [PURGE_LEDGER] = "DELETE FROM ledger WHERE query = ?",
    [PURGE_TALLY] = "DELETE FROM tally WHERE query = ?",
    [PURGE_QUERY] = "DELETE FROM query WHERE id = ?",
};
