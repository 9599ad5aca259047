// Reading several pages in one transaction.
#include "limit_internals.h"

#include <stdlib.h>

static int reserve(limit_page *out, size_t size)
{
    if (size <= out->capacity) return SQLITE_OK;
    size_t capacity = size > 2 * out->capacity ? size : 2 * out->capacity;
    void *larger = realloc(out->buffer, capacity);
    if (larger == NULL) return SQLITE_NOMEM;
    out->buffer = larger;
    out->capacity = capacity;
    return SQLITE_OK;
}

static int append_body(limit *store, const struct page_row *row, limit_page *out)
{
    sqlite3_stmt *statement;
    int code = bound(&store->reader, BODY_FIND, NUMBERS(row->body), &statement);
    if (code != SQLITE_OK) return code;
    int taken = SQLITE_NOTFOUND;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        struct bytes layout = column_bytes(statement, 0), payload = column_bytes(statement, 1);
        taken = reserve(out, out->payload_size + layout.size + payload.size);
        if (taken == SQLITE_OK && store->with_checksum) {
            uint64_t checksum = body_checksum(layout.start, layout.size, payload.start, payload.size);
            if (checksum != (uint64_t)row->checksum) taken = SQLITE_CORRUPT;
        }
        if (taken == SQLITE_OK) {
            uint8_t *end = (uint8_t *)out->buffer + out->payload_size;
            memcpy(end, layout.start, layout.size);
            memcpy(end + layout.size, payload.start, payload.size);
            out->payload_size += layout.size + payload.size;
        }
    }
    code = sqlite3_reset(statement);
    return code != SQLITE_OK ? code : taken;
}

static int read_range(limit *store, int64_t query, int64_t from, int64_t end, limit_page *out)
{
    struct version version;
    sqlite3_stmt *statement;
    int code = find_query(&store->reader, query, &version);
    if (code == SQLITE_OK) code = bound(&store->reader, PAGES_MEETING, NUMBERS(query, from, end), &statement);
    if (code != SQLITE_OK) return code;
    out->count = 0;
    out->payload_size = 0;
    int taken = SQLITE_OK;
    while (taken == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct page_row row;
        take_row(statement, &row);
        if (row.offset + row.count <= from) continue;
        if (out->count == 0) out->offset = row.offset;
        out->count += row.count;
        taken = append_body(store, &row, out);
    }
    code = sqlite3_reset(statement);
    if (code == SQLITE_OK) code = taken;
    out->generation = version.generation;
    out->revision = version.revision;
    out->layout = NULL;
    out->layout_size = 0;
    out->payload = out->buffer;
    return code == SQLITE_OK && out->count == 0 ? SQLITE_NOTFOUND : code;
}

int limit_read_range(limit *store, int64_t query, int64_t from, int64_t end, limit_page *out)
{
    int code = begun(store, &store->reader, BEGIN_READ);
    return code == SQLITE_OK ? ended(store, &store->reader, read_range(store, query, from, end, out)) : code;
}
