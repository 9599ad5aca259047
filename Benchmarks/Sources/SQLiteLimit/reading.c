// Finding lists and pages, and reading a page.
#include "limit_internals.h"

#include <stdlib.h>
#include <string.h>

int find_query(struct connection *connection, int64_t query, struct version *version)
{
    sqlite3_stmt *statement;
    int code = bound(connection, QUERY_BY_ID, NUMBERS(query), &statement);
    if (code != SQLITE_OK) return code;
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) {
        version->generation = sqlite3_column_int64(statement, 4);
        version->revision = sqlite3_column_int64(statement, 5);
    }
    code = sqlite3_reset(statement);
    return code == SQLITE_OK && step != SQLITE_ROW ? SQLITE_NOTFOUND : code;
}

void take_row(sqlite3_stmt *statement, struct page_row *row)
{
    row->offset = sqlite3_column_int64(statement, 0);
    row->count = sqlite3_column_int64(statement, 1);
    row->body = sqlite3_column_int64(statement, 2);
    row->checksum = sqlite3_column_int64(statement, 3);
    row->bytes = sqlite3_column_int64(statement, 4);
    row->generation = sqlite3_column_int64(statement, 5);
    row->revision = sqlite3_column_int64(statement, 6);
    row->validated_at = sqlite3_column_int64(statement, 11);
}

int page_meeting(
    struct connection *connection, int64_t query, int64_t from, int64_t end, struct page_row *row, int *is_found)
{
    sqlite3_stmt *statement;
    int code = bound(connection, PAGES_MEETING, NUMBERS(query, from, end), &statement);
    if (code != SQLITE_OK) return code;
    *is_found = 0;
    while (!*is_found && sqlite3_step(statement) == SQLITE_ROW) {
        take_row(statement, row);
        *is_found = row->offset + row->count > from || row->offset >= from;
    }
    return sqlite3_reset(statement);
}

int page_at(struct connection *connection, int64_t query, int64_t offset, struct page_row *row)
{
    sqlite3_stmt *statement;
    int code = bound(connection, PAGE_AT, NUMBERS(query, offset), &statement);
    if (code != SQLITE_OK) return code;
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) take_row(statement, row);
    code = sqlite3_reset(statement);
    return code == SQLITE_OK && step != SQLITE_ROW ? SQLITE_NOTFOUND : code;
}

void limit_page_free(limit_page *page)
{
    free(page->buffer);
    memset(page, 0, sizeof *page);
}

// Keeps layout and payload one after the other.
static int keep(limit_page *out, struct bytes layout, struct bytes payload)
{
    size_t size = layout.size + payload.size;
    if (size > out->capacity) {
        void *larger = realloc(out->buffer, size);
        if (larger == NULL) return SQLITE_NOMEM;
        out->buffer = larger;
        out->capacity = size;
    }
    uint8_t *start = out->buffer;
    if (layout.size > 0) memcpy(start, layout.start, layout.size);
    if (payload.size > 0) memcpy(start + layout.size, payload.start, payload.size);
    out->layout = start;
    out->layout_size = layout.size;
    out->payload = start + layout.size;
    out->payload_size = payload.size;
    return SQLITE_OK;
}

static int take_body(sqlite3_stmt *statement, const struct page_row *row, int with_checksum, limit_page *out)
{
    struct bytes layout = column_bytes(statement, 0), payload = column_bytes(statement, 1);
    if (with_checksum) {
        uint64_t checksum = body_checksum(layout.start, layout.size, payload.start, payload.size);
        if (checksum != (uint64_t)row->checksum) return SQLITE_CORRUPT;
    }
    return keep(out, layout, payload);
}

static int read_body(
    struct connection *reader, const struct page_row *row, int with_checksum, limit_page *out)
{
    sqlite3_stmt *statement;
    int code = bound(reader, BODY_FIND, NUMBERS(row->body), &statement);
    if (code != SQLITE_OK) return code;
    int taken = SQLITE_NOTFOUND;
    if (sqlite3_step(statement) == SQLITE_ROW) taken = take_body(statement, row, with_checksum, out);
    code = sqlite3_reset(statement);
    return code != SQLITE_OK ? code : taken;
}

static int read_page(limit *store, int64_t query, int64_t offset, limit_page *out)
{
    struct page_row row;
    int code = page_at(&store->reader, query, offset, &row);
    if (code != SQLITE_OK) return code;
    out->offset = row.offset;
    out->count = row.count;
    out->generation = row.generation;
    out->revision = row.revision;
    out->validated_at = row.validated_at;
    return read_body(&store->reader, &row, store->with_checksum, out);
}

int limit_read_page(limit *store, int64_t query, int64_t offset, limit_page *out)
{
    int code = begun(store, &store->reader, BEGIN_READ);
    return code == SQLITE_OK ? ended(store, &store->reader, read_page(store, query, offset, out)) : code;
}
