// Failures, pages in flight, and due retries.
#include "limit_internals.h"

// As long as a real owner's name.
static const char owner[] = "limit-0123456789abcdef";

static const int64_t retry_delay = 30000;

static int note_failure(struct connection *writer, int64_t query, int64_t offset, int64_t now)
{
    struct version version;
    sqlite3_stmt *statement;
    int code = find_query(writer, query, &version);
    if (code == SQLITE_OK) code = bound(writer, LEDGER_FAIL, NUMBERS(query, offset), &statement);
    if (code != SQLITE_OK) return code;
    bind_text(statement, 3, "failed_retryable");
    sqlite3_bind_int64(statement, 4, now);
    sqlite3_bind_int64(statement, 5, now + retry_delay);
    bind_text(statement, 6, "server");
    sqlite3_bind_int64(statement, 7, 1);
    sqlite3_bind_int64(statement, 8, 503);
    bind_text(statement, 9, "the origin answered 503");
    sqlite3_bind_null(statement, 10);
    return finished(statement);
}

int limit_ledger(limit *store, int64_t query, int64_t offset, int64_t now)
{
    int code = begun(store, &store->writer, BEGIN_WRITE);
    return code == SQLITE_OK ? ended(store, &store->writer, note_failure(&store->writer, query, offset, now)) : code;
}

// The end of the lease of the page. 0 if the page is not in flight.
static int lease_end(struct connection *writer, int64_t query, int64_t offset, int64_t *end)
{
    sqlite3_stmt *statement;
    int code = bound(writer, LEDGER_HOLDER, NUMBERS(query, offset), &statement);
    if (code != SQLITE_OK) return code;
    *end = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 1) : 0;
    return sqlite3_reset(statement);
}

static int take_lease(
    struct connection *writer, int64_t query, int64_t offset, int64_t now, int64_t expiry, int *taken)
{
    struct version version;
    int64_t end;
    sqlite3_stmt *statement;
    int code = find_query(writer, query, &version);
    if (code == SQLITE_OK) code = lease_end(writer, query, offset, &end);
    if (code != SQLITE_OK || end > now) return code;
    code = bound(writer, LEDGER_TAKE, NUMBERS(query, offset, now), &statement);
    if (code != SQLITE_OK) return code;
    bind_text(statement, 4, owner);
    sqlite3_bind_int64(statement, 5, expiry);
    *taken = 1;
    return finished(statement);
}

int limit_claim(limit *store, int64_t query, int64_t offset, int64_t now, int64_t expiry, int *taken)
{
    int is_taken = 0;
    int code = begun(store, &store->writer, BEGIN_WRITE);
    if (code == SQLITE_OK) {
        code = ended(
            store, &store->writer, take_lease(&store->writer, query, offset, now, expiry, &is_taken));
    }
    if (taken != NULL) *taken = code == SQLITE_OK && is_taken;
    return code;
}

static int count_due(struct connection *reader, int64_t now, int64_t most, int64_t *found)
{
    sqlite3_stmt *statement;
    int code = bound(reader, LEDGER_DUE, NUMBERS(now, most), &statement);
    if (code != SQLITE_OK) return code;
    *found = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) *found += 1;
    return sqlite3_reset(statement);
}

int limit_due(limit *store, int64_t now, int64_t most, int64_t *found)
{
    int64_t count = 0;
    int code = begun(store, &store->reader, BEGIN_READ);
    if (code == SQLITE_OK) code = ended(store, &store->reader, count_due(&store->reader, now, most, &count));
    if (found != NULL) *found = count;
    return code;
}
