#ifndef LIMIT_INTERNALS_H
#define LIMIT_INTERNALS_H

// Declarations that the files of the limit share.

#include "sqlite_limit.h"

#include <sqlite3.h>
#include <string.h>

// The names below are short, and for these files only: no library of the process shall find them.
#pragma GCC visibility push(hidden)

// MARK: - Statements

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
    PAGES_SCRATCH,
    PAGES_BOUND_ABOVE,
    PAGES_BOUND_BELOW,
    PAGES_TAKE,
    PAGES_DELETE,
    PAGES_PUT_BACK,
    PAGES_EMPTY,
    LEDGER_SCRATCH,
    LEDGER_BOUND_ABOVE,
    LEDGER_BOUND_BELOW,
    LEDGER_TAKE_ALONG,
    LEDGER_DELETE,
    LEDGER_PUT_BACK,
    LEDGER_EMPTY,
    LEDGER_FORGET,
    PAGE_DELETE,
    BODY_DELETE,
    ACCESS_DELETE,
    IDENTITY_DELETE,
    EVICTION_SCAN,
    PURGE_ACCESSES,
    PURGE_BODIES,
    PURGE_IDENTITIES,
    PURGE_PAGES,
    PURGE_LEDGER,
    PURGE_TALLY,
    PURGE_QUERY,
    SQL_COUNT
};

extern const char *const sql_text[SQL_COUNT];

// A seal takes its 8 bytes in every row, so a constant must as well; 0 or 1 would be stored in none.
static const int64_t seal = INT64_C(0x5ea1ed5ea1ed5ea1);

struct connection {
    sqlite3 *handle;
    sqlite3_stmt *statements[SQL_COUNT];
};

struct hit;

struct limit {
    struct connection writer;
    struct connection reader;
    int with_checksum;
    struct hit *hits;
    size_t hit_count;
    size_t hit_capacity;
    char message[256];
};

// Called right after a failure: the next statement on the connection makes SQLite forget what it was.
int failed(limit *store, struct connection *connection, int code);

// Statements are prepared when first used: a process that only reads one page shall not pay for the others.
int prepared(struct connection *connection, enum sql sql, sqlite3_stmt **statement);

// Prepared, with numbers bound to its first parameters. (Numbers, and text without a copy, always can be bound.)
int bound(
    struct connection *connection, enum sql sql, int count, const int64_t *numbers, sqlite3_stmt **statement);

// Steps a statement that returns nothing. (Resetting tells its error again, so that it is not lost.)
int finished(sqlite3_stmt *statement);

int run_numbers(struct connection *connection, enum sql sql, int count, const int64_t *numbers);
int plain(struct connection *connection, enum sql sql);

#define NUMBERS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}
#define RUN(connection, sql, ...) run_numbers(connection, sql, NUMBERS(__VA_ARGS__))

void bind_text(sqlite3_stmt *statement, int position, const char *text);
int bind_bytes(sqlite3_stmt *statement, int position, const void *bytes, size_t size);

struct bytes {
    const void *start;
    size_t size;
};

struct bytes column_bytes(sqlite3_stmt *statement, int column);

int begun(limit *store, struct connection *connection, enum sql begin);

// Ends a transaction in which `code` came out.
int ended(limit *store, struct connection *connection, int code);

// MARK: - Rows

struct version {
    int64_t generation;
    int64_t revision;
};

// Finds the version of the list for a plan or a read.
int find_query(struct connection *connection, int64_t query, struct version *version);

struct page_row {
    int64_t offset, count, body, checksum, bytes, generation, revision, validated_at;
};

// The first page that holds a position in `from ..< end`. An empty one is found where it lies.
int page_meeting(
    struct connection *connection, int64_t query, int64_t from, int64_t end, struct page_row *row, int *is_found);

int page_at(struct connection *connection, int64_t query, int64_t offset, struct page_row *row);

// A page's row, with the body and the identity hashes that live and die with it.
int drop_page(struct connection *writer, int64_t query, const struct page_row *row);

void take_row(sqlite3_stmt *statement, struct page_row *row);

// MARK: - Hashes

static inline uint64_t word64(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

uint64_t body_checksum(const void *layout, size_t layout_size, const void *payload, size_t payload_size);

#pragma GCC visibility pop

#endif
