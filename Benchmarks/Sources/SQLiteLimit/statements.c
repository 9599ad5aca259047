// Preparing and running statements and transactions, and what is said when they fail.
#include "limit_internals.h"

#include <stdio.h>

// The meaning of a code. Two codes are used by this program and by SQLite, whose texts do not fit here.
static const char *meaning(struct connection *connection, int code)
{
    if (code == SQLITE_NOTFOUND) return "there is no such list or page";
    if (code == SQLITE_CONSTRAINT) return "a page holds one of these positions already";
    if (connection->handle == NULL || sqlite3_extended_errcode(connection->handle) != code) return sqlite3_errstr(code);
    return sqlite3_errmsg(connection->handle);
}

int failed(limit *store, struct connection *connection, int code)
{
    snprintf(store->message, sizeof store->message, "SQLite %d: %s", code, meaning(connection, code));
    return code;
}

int prepared(struct connection *connection, enum sql sql, sqlite3_stmt **statement)
{
    if (connection->statements[sql] == NULL) {
        int code = sqlite3_prepare_v3(
            connection->handle, sql_text[sql], -1, SQLITE_PREPARE_PERSISTENT, &connection->statements[sql], NULL);
        if (code != SQLITE_OK) return code;
    }
    *statement = connection->statements[sql];
    return SQLITE_OK;
}

int bound(
    struct connection *connection, enum sql sql, int count, const int64_t *numbers, sqlite3_stmt **statement)
{
    int code = prepared(connection, sql, statement);
    if (code != SQLITE_OK) return code;
    for (int i = 0; i < count; i++) sqlite3_bind_int64(*statement, i + 1, numbers[i]);
    return SQLITE_OK;
}

int finished(sqlite3_stmt *statement)
{
    sqlite3_step(statement);
    return sqlite3_reset(statement);
}

int run_numbers(struct connection *connection, enum sql sql, int count, const int64_t *numbers)
{
    sqlite3_stmt *statement;
    int code = bound(connection, sql, count, numbers, &statement);
    return code != SQLITE_OK ? code : finished(statement);
}

int plain(struct connection *connection, enum sql sql)
{
    return run_numbers(connection, sql, 0, NULL);
}

void bind_text(sqlite3_stmt *statement, int position, const char *text)
{
    sqlite3_bind_text(statement, position, text, -1, SQLITE_STATIC);
}

// A null pointer would bind NULL; no bytes are a value.
int bind_bytes(sqlite3_stmt *statement, int position, const void *bytes, size_t size)
{
    if (size == 0) return sqlite3_bind_zeroblob(statement, position, 0);
    return sqlite3_bind_blob64(statement, position, bytes, size, SQLITE_STATIC);
}

int ended(limit *store, struct connection *connection, int code)
{
    if (code == SQLITE_OK) code = plain(connection, COMMIT);
    if (code == SQLITE_OK) return SQLITE_OK;
    failed(store, connection, code);
    plain(connection, ROLLBACK);
    return code;
}

int begun(limit *store, struct connection *connection, enum sql begin)
{
    int code = plain(connection, begin);
    return code == SQLITE_OK ? SQLITE_OK : failed(store, connection, code);
}

struct bytes column_bytes(sqlite3_stmt *statement, int column)
{
    // In this order: asking for the start may convert, and change the size.
    const void *start = sqlite3_column_blob(statement, column);
    return (struct bytes){start, (size_t)sqlite3_column_bytes(statement, column)};
}
