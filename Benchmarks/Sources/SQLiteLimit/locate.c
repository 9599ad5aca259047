// Finding items by their keys.
#include "limit_internals.h"

#include <stdlib.h>
#include <string.h>

// Where an item may be: the index in its page, and in the keys looked for.
struct hit {
    int64_t body;
    int64_t index;
    size_t key;
};

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

// The first hit in this body or after it.
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
