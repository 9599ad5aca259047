#include "sqlite_limit.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: - Statements

// Word for word those of Sources/PageStore, but for seals and for registering: whoever changes one there changes it
// here, or the ratio compares two different things.

#define PAGE_COLUMNS \
    "offset, count, body, checksum, bytes, generation, revision, evidence, evidence_at, seams, fetched_at, " \
    "validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total, seal"

#define QUERY_COLUMNS \
    "id, scope, key, name_hash, generation, revision, total_kind, total, list_end, created_at, validated_at, " \
    "allows_duplicates, paging, source, sweep_position, sweep_cursor, sweep_started_at, pinned, seal"

#define LEDGER_COLUMNS \
    "offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable, " \
    "http_status, error_message, retry_after_until, lease_owner, lease_expires_at"

enum sql {
    BEGIN_READ,
    BEGIN_WRITE,
    COMMIT,
    ROLLBACK,
    QUERY_BY_KEY,
    QUERY_BY_ID,
    QUERY_INSERT,
    QUERY_REVISE,
    PAGES_MEETING,
    PAGE_AT,
    PAGE_STORE,
    PAGE_TOUCH,
    PAGE_OFFSETS,
    PAGES_PARK,
    PAGES_UNPARK,
    BODY_INSERT,
    BODY_FIND,
    IDENTITY_INSERT,
    IDENTITY_SCAN,
    LEDGER_SUCCEED,
    LEDGER_FAIL,
    LEDGER_DROP_FAILURES,
    LEDGER_HOLDER,
    LEDGER_TAKE,
    LEDGER_DUE,
    LEDGER_PARK,
    LEDGER_UNPARK,
    SQL_COUNT
};

static const char *const sql_text[SQL_COUNT] = {
    [BEGIN_READ] = "BEGIN DEFERRED",
    [BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [QUERY_BY_KEY] = "SELECT " QUERY_COLUMNS " FROM query WHERE scope = ? AND key = ?",
    [QUERY_BY_ID] = "SELECT " QUERY_COLUMNS " FROM query WHERE id = ?",
    [QUERY_INSERT] =
        "INSERT INTO query (scope, key, name_hash, generation, revision, total_kind, created_at, allows_duplicates, "
        "paging, source, pinned, seal) VALUES (?, ?, ?, 1, 0, 'unknown', ?, 0, '', '', 0, ?)",
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
    [PAGES_PARK] =
        "UPDATE page SET offset = offset + ?4, revision = ?5, request = NULL, entity_tag = NULL, last_modified = NULL, "
        "covers_total = 0, seal = ?3 WHERE query = ?1 AND offset >= ?2",
    [PAGES_UNPARK] = "UPDATE page SET offset = offset - ? WHERE query = ? AND offset >= ?",
    [BODY_INSERT] = "INSERT INTO body (layout, payload) VALUES (?, ?)",
    [BODY_FIND] = "SELECT layout, payload FROM body WHERE id = ?",
    [IDENTITY_INSERT] = "INSERT OR REPLACE INTO identity (query, body, hashes, seal) VALUES (?, ?, ?, ?)",
    [IDENTITY_SCAN] = "SELECT body, hashes, seal FROM identity WHERE query = ?",
    [LEDGER_SUCCEED] =
        "INSERT INTO ledger (query, offset, state, attempts, last_attempt_at) VALUES (?1, ?2, 'ok', 1, ?3) "
        "ON CONFLICT DO UPDATE SET state = 'ok', first_failure_at = NULL, next_attempt_at = NULL, error_class = NULL, "
        "error_retryable = NULL, http_status = NULL, error_message = NULL, retry_after_until = NULL, "
        "lease_owner = NULL, lease_expires_at = NULL",
    [LEDGER_FAIL] =
        "INSERT INTO ledger (query, offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, "
        "error_class, error_retryable, http_status, error_message, retry_after_until) "
        "VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
        "ON CONFLICT DO UPDATE SET state = ?3, first_failure_at = coalesce(first_failure_at, ?4), "
        "next_attempt_at = ?5, error_class = ?6, error_retryable = ?7, http_status = ?8, error_message = ?9, "
        "retry_after_until = ?10, lease_owner = NULL, lease_expires_at = NULL",
    [LEDGER_DROP_FAILURES] =
        "DELETE FROM ledger WHERE query = ? AND offset >= ? AND offset < ? "
        "AND state IN ('failed_retryable', 'failed_permanent')",
    [LEDGER_HOLDER] =
        "SELECT lease_owner, lease_expires_at FROM ledger WHERE query = ? AND offset = ? AND state = 'in_flight'",
    [LEDGER_TAKE] =
        "INSERT INTO ledger (query, offset, state, attempts, last_attempt_at, lease_owner, lease_expires_at) "
        "VALUES (?1, ?2, 'in_flight', 1, ?3, ?4, ?5) "
        "ON CONFLICT DO UPDATE SET attempts = CASE state WHEN 'ok' THEN 1 ELSE attempts + 1 END, state = 'in_flight', "
        "last_attempt_at = ?3, next_attempt_at = NULL, lease_owner = ?4, lease_expires_at = ?5",
    [LEDGER_DUE] =
        "SELECT " LEDGER_COLUMNS ", query FROM ledger INDEXED BY ledger_due "
        "WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?",
    [LEDGER_PARK] = "UPDATE ledger SET offset = offset + ? WHERE query = ? AND offset >= ?",
    [LEDGER_UNPARK] = "UPDATE ledger SET offset = offset - ? WHERE query = ? AND offset >= ?",
};

// A seal takes its 8 bytes in every row, so a constant must as well; 0 or 1 would be stored in none.
static const int64_t seal = INT64_C(0x5ea1ed5ea1ed5ea1);

// Where pages wait while others move: beyond every position.
static const int64_t parking = INT64_C(1) << 60;

// As long as a real owner's name.
static const char owner[] = "limit-0123456789abcdef";

static const int64_t retry_delay = 30000;

// MARK: - Connections

struct connection {
    sqlite3 *handle;
    sqlite3_stmt *statements[SQL_COUNT];
};

// Where an item may be: the index in its page, and in the keys looked for.
struct hit {
    int64_t body;
    int64_t index;
    size_t key;
};

struct limit {
    struct connection writer;
    struct connection reader;
    int with_checksum;
    struct hit *hits;
    size_t hit_count;
    size_t hit_capacity;
    char message[256];
};

static _Thread_local char open_message[256];

// What a code means. Two of them are ours as well as SQLite's, and its words for them do not fit what we mean.
static const char *meaning(struct connection *connection, int code)
{
    if (code == SQLITE_NOTFOUND) return "there is no such list or page";
    if (code == SQLITE_CONSTRAINT) return "a page holds one of these positions already";
    if (connection->handle == NULL || sqlite3_extended_errcode(connection->handle) != code) return sqlite3_errstr(code);
    return sqlite3_errmsg(connection->handle);
}

// Called right after a failure: the next statement on the connection makes SQLite forget what it was.
static int failed(limit *store, struct connection *connection, int code)
{
    snprintf(store->message, sizeof store->message, "SQLite %d: %s", code, meaning(connection, code));
    return code;
}

const char *limit_error(limit *store)
{
    return store != NULL ? store->message : open_message;
}

// Statements are prepared when first used: a process that only reads one page shall not pay for the others.
static int prepared(struct connection *connection, enum sql sql, sqlite3_stmt **statement)
{
    if (connection->statements[sql] == NULL) {
        int code = sqlite3_prepare_v3(
            connection->handle, sql_text[sql], -1, SQLITE_PREPARE_PERSISTENT, &connection->statements[sql], NULL);
        if (code != SQLITE_OK) return code;
    }
    *statement = connection->statements[sql];
    return SQLITE_OK;
}

// Prepared, with numbers bound to its first parameters. (Numbers, and text without a copy, always can be bound.)
static int bound(
    struct connection *connection, enum sql sql, int count, const int64_t *numbers, sqlite3_stmt **statement)
{
    int code = prepared(connection, sql, statement);
    if (code != SQLITE_OK) return code;
    for (int i = 0; i < count; i++) sqlite3_bind_int64(*statement, i + 1, numbers[i]);
    return SQLITE_OK;
}

// Steps a statement that returns nothing. (Resetting tells its error again, so that it is not lost.)
static int finished(sqlite3_stmt *statement)
{
    sqlite3_step(statement);
    return sqlite3_reset(statement);
}

static int run_numbers(struct connection *connection, enum sql sql, int count, const int64_t *numbers)
{
    sqlite3_stmt *statement;
    int code = bound(connection, sql, count, numbers, &statement);
    return code != SQLITE_OK ? code : finished(statement);
}

#define NUMBERS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}
#define RUN(connection, sql, ...) run_numbers(connection, sql, NUMBERS(__VA_ARGS__))

static int plain(struct connection *connection, enum sql sql)
{
    return run_numbers(connection, sql, 0, NULL);
}

static void bind_text(sqlite3_stmt *statement, int position, const char *text)
{
    sqlite3_bind_text(statement, position, text, -1, SQLITE_STATIC);
}

// A null pointer would bind NULL; no bytes are a value.
static int bind_bytes(sqlite3_stmt *statement, int position, const void *bytes, size_t size)
{
    if (size == 0) return sqlite3_bind_zeroblob(statement, position, 0);
    return sqlite3_bind_blob64(statement, position, bytes, size, SQLITE_STATIC);
}

// Ends a transaction in which `code` came out.
static int ended(limit *store, struct connection *connection, int code)
{
    if (code == SQLITE_OK) code = plain(connection, COMMIT);
    if (code == SQLITE_OK) return SQLITE_OK;
    failed(store, connection, code);
    plain(connection, ROLLBACK);
    return code;
}

static int begun(limit *store, struct connection *connection, enum sql begin)
{
    int code = plain(connection, begin);
    return code == SQLITE_OK ? SQLITE_OK : failed(store, connection, code);
}

// MARK: - Opening and closing

// The settings of StoreOpening.harden.
static int harden(sqlite3 *handle)
{
    sqlite3_busy_timeout(handle, 5000);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 256 << 20);
    return sqlite3_exec(handle, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

static int open_connection(struct connection *connection, const char *path, int flags)
{
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite3_open_v2(path, &connection->handle, flags, NULL);
    return code == SQLITE_OK ? harden(connection->handle) : code;
}

static int schema_version(sqlite3 *handle, int *version)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(handle, "PRAGMA user_version", -1, &statement, NULL);
    if (code != SQLITE_OK) return code;
    if (sqlite3_step(statement) == SQLITE_ROW) *version = sqlite3_column_int(statement, 0);
    return sqlite3_finalize(statement);
}

// The whole text of a file, to be freed; null if it cannot be read.
static char *file_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = NULL;
    size_t size = 0, room = 0, part = 1;
    while (part > 0) {
        room += 16384;
        char *larger = realloc(text, room + 1);
        if (larger == NULL) break;
        text = larger;
        part = fread(text + size, 1, room - size, file);
        size += part;
    }
    int is_whole = part == 0 && !ferror(file);
    fclose(file);
    if (!is_whole) {
        free(text);
        return NULL;
    }
    text[size] = 0;
    return text;
}

static int create_tables(sqlite3 *handle, const char *schema_path)
{
    char *schema = file_text(schema_path);
    if (schema == NULL) return SQLITE_CANTOPEN;
    int code = sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(handle, schema, NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(handle, "PRAGMA user_version = 1; COMMIT", NULL, NULL, NULL);
    free(schema);
    return code;
}

static int open_writer(struct connection *writer, const char *path, const char *schema_path)
{
    int code = open_connection(writer, path, SQLITE_OPEN_CREATE);
    int version = 0;
    if (code == SQLITE_OK) code = schema_version(writer->handle, &version);
    // Has an effect only in a file that is still blank, and must come before it is anything else.
    if (code == SQLITE_OK && version == 0) {
        code = sqlite3_exec(
            writer->handle, "BEGIN; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = 0x70676361; COMMIT", NULL,
            NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_exec(
            writer->handle,
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST;"
            "PRAGMA journal_size_limit = 16777216",
            NULL, NULL, NULL);
    }
    if (code == SQLITE_OK && version == 0) code = create_tables(writer->handle, schema_path);
    return code;
}

static int open_reader(struct connection *reader, const char *path)
{
    int code = open_connection(reader, path, 0);
    return code == SQLITE_OK ? sqlite3_exec(reader->handle, "PRAGMA query_only = ON", NULL, NULL, NULL) : code;
}

limit *limit_open(const char *path, const char *schema_path, limit_options options)
{
    limit *store = calloc(1, sizeof *store);
    if (store == NULL) {
        snprintf(open_message, sizeof open_message, "no memory");
        return NULL;
    }
    store->with_checksum = options.with_checksum;
    int code = open_writer(&store->writer, path, schema_path);
    if (code != SQLITE_OK) failed(store, &store->writer, code);
    if (code == SQLITE_OK) {
        code = open_reader(&store->reader, path);
        if (code != SQLITE_OK) failed(store, &store->reader, code);
    }
    if (code == SQLITE_OK) return store;
    memcpy(open_message, store->message, sizeof open_message);
    limit_close(store);
    return NULL;
}

static void close_connection(struct connection *connection)
{
    for (int i = 0; i < SQL_COUNT; i++) sqlite3_finalize(connection->statements[i]);
    sqlite3_close(connection->handle);
}

void limit_close(limit *store)
{
    if (store == NULL) return;
    // The writer goes last: only the last connection merges the log, and one that may not write cannot.
    close_connection(&store->reader);
    close_connection(&store->writer);
    free(store->hits);
    free(store);
}

// MARK: - XXH64

// After https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, for machines whose numbers lie in memory with
// the lowest byte first.

static const uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F, prime3 = 0x165667B19E3779F9,
                      prime4 = 0x85EBCA77C2B2AE63, prime5 = 0x27D4EB2F165667C5;

static inline uint64_t word64(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint64_t rotated(uint64_t value, int count)
{
    return value << count | value >> (64 - count);
}

static inline uint64_t mixed(uint64_t lane, uint64_t word)
{
    return rotated(lane + word * prime2, 31) * prime1;
}

// The lanes' common value after all whole stripes of 32 bytes; `bytes` moves behind them.
static uint64_t stripes(const uint8_t **bytes, const uint8_t *end, uint64_t seed)
{
    uint64_t a = seed + prime1 + prime2, b = seed + prime2, c = seed, d = seed - prime1;
    const uint8_t *at = *bytes;
    for (; end - at >= 32; at += 32) {
        a = mixed(a, word64(at));
        b = mixed(b, word64(at + 8));
        c = mixed(c, word64(at + 16));
        d = mixed(d, word64(at + 24));
    }
    *bytes = at;
    uint64_t hash = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18);
    hash = (hash ^ mixed(0, a)) * prime1 + prime4;
    hash = (hash ^ mixed(0, b)) * prime1 + prime4;
    hash = (hash ^ mixed(0, c)) * prime1 + prime4;
    return (hash ^ mixed(0, d)) * prime1 + prime4;
}

static uint64_t rest(uint64_t hash, const uint8_t *at, const uint8_t *end)
{
    for (; end - at >= 8; at += 8) hash = rotated(hash ^ mixed(0, word64(at)), 27) * prime1 + prime4;
    if (end - at >= 4) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        hash = rotated(hash ^ word * prime1, 23) * prime2 + prime3;
        at += 4;
    }
    for (; at < end; at++) hash = rotated(hash ^ *at * prime5, 11) * prime1;
    return hash;
}

uint64_t limit_xxh64(const void *bytes, size_t size, uint64_t seed)
{
    if (size == 0) bytes = "";
    const uint8_t *at = bytes, *end = at + size;
    uint64_t hash = size >= 32 ? stripes(&at, end, seed) : seed + prime5;
    hash = rest(hash + size, at, end);
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

static uint64_t body_checksum(const void *layout, size_t layout_size, const void *payload, size_t payload_size)
{
    return limit_xxh64(payload, payload_size, limit_xxh64(layout, layout_size, 0));
}

// MARK: - Rows

struct version {
    int64_t generation;
    int64_t revision;
};

// What a plan and a read have to know of the list.
static int find_query(struct connection *connection, int64_t query, struct version *version)
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

struct page_row {
    int64_t offset, count, body, checksum, bytes, generation, revision, validated_at;
};

static void take_row(sqlite3_stmt *statement, struct page_row *row)
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

// The first page that holds a position in `from ..< end`. An empty one is found where it lies.
static int page_meeting(
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

static int page_at(struct connection *connection, int64_t query, int64_t offset, struct page_row *row)
{
    sqlite3_stmt *statement;
    int code = bound(connection, PAGE_AT, NUMBERS(query, offset), &statement);
    if (code != SQLITE_OK) return code;
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) take_row(statement, row);
    code = sqlite3_reset(statement);
    return code == SQLITE_OK && step != SQLITE_ROW ? SQLITE_NOTFOUND : code;
}

// MARK: - Registering

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

static int registered(struct connection *writer, const char *key, int64_t *query)
{
    sqlite3_stmt *statement;
    int code = prepared(writer, QUERY_BY_KEY, &statement);
    if (code != SQLITE_OK) return code;
    bind_text(statement, 1, "limit");
    bind_text(statement, 2, key);
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) *query = sqlite3_column_int64(statement, 0);
    code = sqlite3_reset(statement);
    if (code != SQLITE_OK || step == SQLITE_ROW) return code;
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

// MARK: - Committing a page

struct bytes {
    const void *start;
    size_t size;
};

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

// MARK: - Confirming a page

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

// MARK: - Ledger

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

// Until when somebody has the page in flight; 0 if nobody has.
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

// MARK: - Shifting

// SQLite checks uniqueness row by row, and a row moved in place may meet its neighbour: so all move out, and then in.
static int shift_rows(struct connection *writer, int64_t query, int64_t from, int64_t distance, int64_t revision)
{
    int64_t away = parking + distance;
    int code = RUN(writer, PAGES_PARK, query, from, seal, away, revision);
    if (code == SQLITE_OK) code = RUN(writer, PAGES_UNPARK, parking, query, from + away);
    if (code == SQLITE_OK) code = RUN(writer, LEDGER_PARK, away, query, from);
    if (code == SQLITE_OK) code = RUN(writer, LEDGER_UNPARK, parking, query, from + away);
    return code;
}

static int shift(struct connection *writer, int64_t query, int64_t from, int64_t distance, int64_t revision)
{
    struct version version;
    int code = find_query(writer, query, &version);
    if (code == SQLITE_OK) code = shift_rows(writer, query, from, distance, revision);
    return code == SQLITE_OK ? RUN(writer, QUERY_REVISE, query, revision, seal) : code;
}

int limit_shift(limit *store, int64_t query, int64_t from, int64_t distance, int64_t revision)
{
    int code = begun(store, &store->writer, BEGIN_WRITE);
    if (code != SQLITE_OK) return code;
    return ended(store, &store->writer, shift(&store->writer, query, from, distance, revision));
}

// MARK: - Reading a page

void limit_page_free(limit_page *page)
{
    free(page->buffer);
    memset(page, 0, sizeof *page);
}

// Keeps layout and payload one behind the other.
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

static struct bytes column_bytes(sqlite3_stmt *statement, int column)
{
    // In this order: asking for the start may convert, and change the size.
    const void *start = sqlite3_column_blob(statement, column);
    return (struct bytes){start, (size_t)sqlite3_column_bytes(statement, column)};
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

static int read_page(limit *store, int64_t query, int64_t position, limit_page *out)
{
    struct connection *reader = &store->reader;
    struct version version;
    struct page_row row;
    int is_found;
    int code = find_query(reader, query, &version);
    if (code == SQLITE_OK) code = page_meeting(reader, query, position, position + 1, &row, &is_found);
    if (code != SQLITE_OK) return code;
    if (!is_found) return SQLITE_NOTFOUND;
    out->offset = row.offset;
    out->count = row.count;
    out->generation = row.generation;
    out->revision = row.revision;
    out->validated_at = row.validated_at;
    return read_body(reader, &row, store->with_checksum, out);
}

int limit_read_page(limit *store, int64_t query, int64_t position, limit_page *out)
{
    int code = begun(store, &store->reader, BEGIN_READ);
    return code == SQLITE_OK ? ended(store, &store->reader, read_page(store, query, position, out)) : code;
}

// MARK: - Locating items

// The keys looked for, and for each value of their lowest 6 bits whether one of them has it. That one word turns most
// of a list's items away without a search.
struct wanted {
    const uint64_t *keys;
    size_t count;
    uint64_t endings;
};

static struct wanted wanted_keys(const uint64_t *keys, size_t count)
{
    struct wanted wanted = {keys, count, 0};
    for (size_t i = 0; i < count; i++) wanted.endings |= UINT64_C(1) << (keys[i] & 63);
    return wanted;
}

// Which of the keys this is; their number if none.
static size_t key_index(const struct wanted *wanted, uint64_t key)
{
    if ((wanted->endings >> (key & 63) & 1) == 0) return wanted->count;
    size_t low = 0, high = wanted->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wanted->keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low < wanted->count && wanted->keys[low] == key ? low : wanted->count;
}

static int add_hit(limit *store, struct hit hit)
{
    if (store->hit_count == store->hit_capacity) {
        size_t capacity = store->hit_capacity == 0 ? 64 : store->hit_capacity * 2;
        struct hit *larger = realloc(store->hits, capacity * sizeof *larger);
        if (larger == NULL) return SQLITE_NOMEM;
        store->hits = larger;
        store->hit_capacity = capacity;
    }
    store->hits[store->hit_count++] = hit;
    return SQLITE_OK;
}

static int scan_hashes(limit *store, int64_t body, struct bytes hashes, const struct wanted *wanted)
{
    const uint8_t *bytes = hashes.start;
    int code = SQLITE_OK;
    for (size_t i = 0; i < hashes.size / 16 && code == SQLITE_OK; i++) {
        size_t key = key_index(wanted, word64(bytes + i * 16));
        if (key < wanted->count) code = add_hit(store, (struct hit){body, (int64_t)i, key});
    }
    return code;
}

static int scan_identities(limit *store, int64_t query, const struct wanted *wanted)
{
    sqlite3_stmt *statement;
    int code = bound(&store->reader, IDENTITY_SCAN, NUMBERS(query), &statement);
    if (code != SQLITE_OK) return code;
    int scanned = SQLITE_OK;
    store->hit_count = 0;
    while (scanned == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        scanned = scan_hashes(store, sqlite3_column_int64(statement, 0), column_bytes(statement, 1), wanted);
    }
    code = sqlite3_reset(statement);
    return code != SQLITE_OK ? code : scanned;
}

static int by_body(const void *left, const void *right)
{
    int64_t a = ((const struct hit *)left)->body, b = ((const struct hit *)right)->body;
    return (a > b) - (a < b);
}

// The first hit in this body or behind it.
static size_t first_hit(const limit *store, int64_t body)
{
    size_t low = 0, high = store->hit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (store->hits[middle].body < body) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Turns the hits of a body that is said to lie at `offset` into positions, if its page is there and counts.
static int place_hits(
    limit *store, int64_t query, int64_t generation, int64_t body, int64_t offset, int64_t *positions)
{
    size_t i = first_hit(store, body);
    if (i == store->hit_count || store->hits[i].body != body) return SQLITE_OK;
    struct page_row row;
    int code = page_at(&store->reader, query, offset, &row);
    if (code != SQLITE_OK || row.body != body || row.generation != generation) return code;
    for (; i < store->hit_count && store->hits[i].body == body; i++) {
        int64_t position = offset + store->hits[i].index, *known = &positions[store->hits[i].key];
        if (*known < 0 || position < *known) *known = position;
    }
    return SQLITE_OK;
}

static int place_all(limit *store, int64_t query, int64_t generation, int64_t *positions)
{
    sqlite3_stmt *statement;
    int code = bound(&store->reader, PAGE_OFFSETS, NUMBERS(query), &statement);
    if (code != SQLITE_OK) return code;
    int placed = SQLITE_OK;
    while (placed == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        int64_t body = sqlite3_column_int64(statement, 0), offset = sqlite3_column_int64(statement, 1);
        placed = place_hits(store, query, generation, body, offset, positions);
    }
    code = sqlite3_reset(statement);
    return code != SQLITE_OK ? code : placed;
}

static int locate(limit *store, int64_t query, const struct wanted *wanted, int64_t *positions)
{
    struct version version;
    int code = find_query(&store->reader, query, &version);
    if (code == SQLITE_OK) code = scan_identities(store, query, wanted);
    if (code != SQLITE_OK || store->hit_count == 0) return code;
    qsort(store->hits, store->hit_count, sizeof *store->hits, by_body);
    return place_all(store, query, version.generation, positions);
}

int limit_locate(limit *store, int64_t query, const uint64_t *keys, size_t count, int64_t *positions)
{
    struct wanted wanted = wanted_keys(keys, count);
    for (size_t i = 0; i < count; i++) positions[i] = -1;
    int code = begun(store, &store->reader, BEGIN_READ);
    return code == SQLITE_OK ? ended(store, &store->reader, locate(store, query, &wanted, positions)) : code;
}
