// Purging a list and evicting pages, as Upkeep/Purge.swift and Upkeep/Eviction.swift do it.
#include "limit_internals.h"

static const size_t portion = 256;

int drop_page(struct connection *writer, int64_t query, const struct page_row *row)
{
    int code = RUN(writer, BODY_DELETE, row->body);
    if (code == SQLITE_OK) code = RUN(writer, ACCESS_DELETE, row->body);
    if (code == SQLITE_OK) code = RUN(writer, IDENTITY_DELETE, query, row->body);
    return code == SQLITE_OK ? RUN(writer, PAGE_DELETE, query, row->offset) : code;
}

static int pragma(struct connection *writer, const char *text)
{
    return sqlite3_exec(writer->handle, text, NULL, NULL, NULL);
}

static int free_pages(struct connection *writer, int *count)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(writer->handle, "PRAGMA freelist_count", -1, &statement, NULL);
    if (code != SQLITE_OK) return code;
    if (sqlite3_step(statement) == SQLITE_ROW) *count = sqlite3_column_int(statement, 0);
    return sqlite3_finalize(statement);
}

static int return_space(struct connection *writer)
{
    int before = 0, left = 0;
    int code = free_pages(writer, &left);
    while (code == SQLITE_OK && left > 0) {
        before = left;
        code = pragma(writer, "PRAGMA incremental_vacuum(2048)");
        if (code == SQLITE_OK) code = free_pages(writer, &left);
        if (left >= before) break;
    }
    return code == SQLITE_OK ? pragma(writer, "PRAGMA wal_checkpoint(TRUNCATE)") : code;
}

static int remove_list(struct connection *writer, int64_t query)
{
    static const enum sql removals[] = {
        PURGE_ACCESSES, PURGE_BODIES, PURGE_IDENTITIES, PURGE_PAGES, PURGE_LEDGER, PURGE_TALLY, PURGE_QUERY};
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < sizeof removals / sizeof *removals; i++) code = RUN(writer, removals[i], query);
    return code;
}

int limit_purge(limit *store, int64_t query)
{
    struct connection *writer = &store->writer;
    int code = pragma(writer, "PRAGMA secure_delete = ON");
    if (code == SQLITE_OK) code = begun(store, writer, BEGIN_WRITE);
    if (code == SQLITE_OK) code = ended(store, writer, remove_list(writer, query));
    if (code == SQLITE_OK) code = return_space(writer);
    int after = pragma(writer, "PRAGMA secure_delete = FAST");
    return code == SQLITE_OK ? after : code;
}

// Every row is looked at; what the sums are does not matter, only that they are made.
static int look_at_all(struct connection *writer)
{
    sqlite3_stmt *statement;
    int code = prepared(writer, EVICTION_SCAN, &statement);
    if (code != SQLITE_OK) return code;
    int64_t bytes = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int column = 0; column < 5; column++) bytes += sqlite3_column_int64(statement, column);
    }
    return sqlite3_reset(statement);
}

static int evict_portion(struct connection *writer, int64_t query, const int64_t *offsets, size_t count)
{
    struct version version;
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < count; i++) {
        struct page_row row;
        code = page_at(writer, query, offsets[i], &row);
        if (code == SQLITE_OK) code = drop_page(writer, query, &row);
        if (code == SQLITE_OK) code = RUN(writer, LEDGER_FORGET, query, offsets[i]);
    }
    return code == SQLITE_OK ? find_query(writer, query, &version) : code;
}

int limit_evict(limit *store, int64_t query, const int64_t *offsets, size_t count)
{
    struct connection *writer = &store->writer;
    int code = look_at_all(writer);
    while (code == SQLITE_OK && count > 0) {
        size_t part = count < portion ? count : portion;
        code = begun(store, writer, BEGIN_WRITE);
        if (code == SQLITE_OK) code = ended(store, writer, evict_portion(writer, query, offsets, part));
        offsets += part;
        count -= part;
    }
    return code == SQLITE_OK ? return_space(writer) : failed(store, writer, code);
}
