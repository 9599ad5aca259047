// Registering a list, committing a page and confirming it.
#include "limit_internals.h"

static int insert_query(struct connection *writer, const char *key)
{
    sqlite3_stmt *statement;
    int code = prepared(writer, QUERY_INSERT, &statement);
    if (code != SQLITE_OK) return code;
    bind_text(statement, 1, "limit");
    bind_text(statement, 2, key);
    sqlite3_bind_int64(statement, 3, seal);
    sqlite3_bind_int64(statement, 4, 0);
    sqlite3_bind_int64(statement, 5, seal);
    return finished(statement);
}

// `query` becomes 0 where there is none.
static int query_by_key(struct connection *connection, const char *key, int64_t *query)
{
    sqlite3_stmt *statement;
    *query = 0;
    int code = prepared(connection, QUERY_BY_KEY, &statement);
    if (code != SQLITE_OK) return code;
    bind_text(statement, 1, "limit");
    bind_text(statement, 2, key);
    if (sqlite3_step(statement) == SQLITE_ROW) *query = sqlite3_column_int64(statement, 0);
    return sqlite3_reset(statement);
}

int64_t limit_find(limit *store, const char *key)
{
    int64_t query = 0;
    int code = begun(store, &store->reader, BEGIN_READ);
    if (code == SQLITE_OK) code = ended(store, &store->reader, query_by_key(&store->reader, key, &query));
    return code == SQLITE_OK ? query : -code;
}

static int registered(struct connection *writer, const char *key, int64_t *query)
{
    int code = query_by_key(writer, key, query);
    if (code != SQLITE_OK || *query != 0) return code;
    code = insert_query(writer, key);
    *query = sqlite3_last_insert_rowid(writer->handle);
    return code;
}

int64_t limit_register(limit *store, const char *key)
{
    int64_t query = 0;
    int code = begun(store, &store->writer, BEGIN_WRITE);
    if (code == SQLITE_OK) code = ended(store, &store->writer, registered(&store->writer, key, &query));
    return code == SQLITE_OK ? query : -code;
}

struct page_write {
    int64_t query, offset, count, now;
    struct bytes layout, payload, hashes;
    uint64_t checksum, fingerprint;
};

static int insert_body(struct connection *writer, const struct page_write *page)
{
    sqlite3_stmt *statement;
    int code = prepared(writer, BODY_INSERT, &statement);
    if (code == SQLITE_OK) code = bind_bytes(statement, 1, page->layout.start, page->layout.size);
    if (code == SQLITE_OK) code = bind_bytes(statement, 2, page->payload.start, page->payload.size);
    return code == SQLITE_OK ? finished(statement) : code;
}

static int insert_identity(struct connection *writer, const struct page_write *page, int64_t body)
{
    sqlite3_stmt *statement;
    int code = bound(writer, IDENTITY_INSERT, NUMBERS(page->query, body), &statement);
    if (code == SQLITE_OK) code = bind_bytes(statement, 3, page->hashes.start, page->hashes.size);
    if (code != SQLITE_OK) return code;
    sqlite3_bind_int64(statement, 4, seal);
    return finished(statement);
}

static int store_row(
    struct connection *writer, const struct page_write *page, struct version version, int64_t body)
{
    sqlite3_stmt *statement;
    int64_t bytes = (int64_t)(page->layout.size + page->payload.size);
    int code = bound(
        writer, PAGE_STORE,
        NUMBERS(
            page->query, page->offset, page->count, body, (int64_t)page->checksum, bytes, version.generation,
            version.revision),
        &statement);
    if (code != SQLITE_OK) return code;
    bind_text(statement, 9, "verified");
    sqlite3_bind_int64(statement, 10, page->now);
    sqlite3_bind_null(statement, 11);
    sqlite3_bind_int64(statement, 12, page->now);
    sqlite3_bind_int64(statement, 13, page->now);
    sqlite3_bind_int64(statement, 14, (int64_t)page->fingerprint);
    for (int i = 15; i <= 19; i++) sqlite3_bind_null(statement, i);
    sqlite3_bind_int64(statement, 20, 0);
    sqlite3_bind_int64(statement, 21, seal);
    return finished(statement);
}

static int insert_page(struct connection *writer, const struct page_write *page, struct version version)
{
    int code = insert_body(writer, page);
    if (code != SQLITE_OK) return code;
    int64_t body = sqlite3_last_insert_rowid(writer->handle);
    code = insert_identity(writer, page, body);
    return code == SQLITE_OK ? store_row(writer, page, version, body) : code;
}

static int write_page(struct connection *writer, const struct page_write *page)
{
    struct version version;
    struct page_row held;
    int is_held;
    int64_t end = page->offset + (page->count > 0 ? page->count : 1);
    int code = find_query(writer, page->query, &version);
    if (code == SQLITE_OK) code = page_meeting(writer, page->query, page->offset, end, &held, &is_held);
    if (code != SQLITE_OK) return code;
    if (is_held) return SQLITE_CONSTRAINT;
    code = insert_page(writer, page, version);
    if (code == SQLITE_OK) code = RUN(writer, LEDGER_SUCCEED, page->query, page->offset, page->now);
    if (code == SQLITE_OK) {
        code = RUN(writer, LEDGER_DROP_FAILURES, page->query, page->offset, page->offset + page->count);
    }
    return code;
}

int limit_commit_page(
    limit *store, int64_t query, int64_t offset, int64_t count, const void *layout, size_t layout_size,
    const void *payload, size_t payload_size, const void *hashes, size_t hashes_size, uint64_t checksum,
    uint64_t fingerprint, int64_t now)
{
    if (store->with_checksum) checksum = body_checksum(layout, layout_size, payload, payload_size);
    struct page_write page = {
        .query = query,
        .offset = offset,
        .count = count,
        .now = now,
        .layout = {layout, layout_size},
        .payload = {payload, payload_size},
        .hashes = {hashes, hashes_size},
        .checksum = checksum,
        .fingerprint = fingerprint,
    };
    int code = begun(store, &store->writer, BEGIN_WRITE);
    return code == SQLITE_OK ? ended(store, &store->writer, write_page(&store->writer, &page)) : code;
}

static int replace_page(struct connection *writer, const struct page_write *page)
{
    struct version version;
    struct page_row held;
    int code = find_query(writer, page->query, &version);
    if (code == SQLITE_OK) code = page_at(writer, page->query, page->offset, &held);
    if (code == SQLITE_OK) code = drop_page(writer, page->query, &held);
    if (code == SQLITE_OK) code = insert_page(writer, page, version);
    return code == SQLITE_OK ? RUN(writer, LEDGER_SUCCEED, page->query, page->offset, page->now) : code;
}

int limit_replace_page(
    limit *store, int64_t query, int64_t offset, int64_t count, const void *layout, size_t layout_size,
    const void *payload, size_t payload_size, const void *hashes, size_t hashes_size, uint64_t checksum,
    uint64_t fingerprint, int64_t now)
{
    if (store->with_checksum) checksum = body_checksum(layout, layout_size, payload, payload_size);
    struct page_write page = {
        query, offset, count, now, {layout, layout_size}, {payload, payload_size}, {hashes, hashes_size}, checksum, fingerprint};
    int code = begun(store, &store->writer, BEGIN_WRITE);
    return code == SQLITE_OK ? ended(store, &store->writer, replace_page(&store->writer, &page)) : code;
}

static int touch_page(struct connection *writer, int64_t query, int64_t offset, int64_t now)
{
    struct version version;
    struct page_row row;
    int code = find_query(writer, query, &version);
    if (code == SQLITE_OK) code = page_at(writer, query, offset, &row);
    return code == SQLITE_OK ? RUN(writer, PAGE_TOUCH, now, seal, query, offset) : code;
}

int limit_confirm(limit *store, int64_t query, int64_t offset, int64_t now)
{
    int code = begun(store, &store->writer, BEGIN_WRITE);
    return code == SQLITE_OK ? ended(store, &store->writer, touch_page(&store->writer, query, offset, now)) : code;
}
