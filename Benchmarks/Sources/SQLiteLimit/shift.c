// Moving rows whose offset is part of their key, as Tables/Shift.swift does it: out to a scratch table, and back in.
#include "limit_internals.h"

static const int64_t portion = 8192;

// The statements that move one table's rows.
struct moving {
    enum sql scratch, bound_above, bound_below, take, delete, put_back, empty;
    // How many of a row's new values `take` is given: the ledger has neither revision nor seal.
    int values;
};

static const struct moving pages = {
    PAGES_SCRATCH, PAGES_BOUND_ABOVE, PAGES_BOUND_BELOW, PAGES_TAKE, PAGES_DELETE, PAGES_PUT_BACK, PAGES_EMPTY, 6};

static const struct moving ledger = {
    LEDGER_SCRATCH, LEDGER_BOUND_ABOVE, LEDGER_BOUND_BELOW, LEDGER_TAKE_ALONG, LEDGER_DELETE, LEDGER_PUT_BACK,
    LEDGER_EMPTY, 4};

struct range {
    int64_t start, end;
};

struct shift {
    int64_t query, from, distance, revision;
};

// Leaves `number` as it is when there is no row.
static int first_number(struct connection *writer, enum sql sql, int count, const int64_t *numbers, int64_t *number)
{
    sqlite3_stmt *statement;
    int code = bound(writer, sql, count, numbers, &statement);
    if (code != SQLITE_OK) return code;
    if (sqlite3_step(statement) == SQLITE_ROW) *number = sqlite3_column_int64(statement, 0);
    return sqlite3_reset(statement);
}

// Cuts `range`, all that is left, to the part that moves next. Moving up begins at the end, moving down at the
// beginning: there the way is free.
static int cut_portion(
    struct connection *writer, const struct moving *table, const struct shift *shift, struct range *range)
{
    if (shift->distance > 0) {
        return first_number(
            writer, table->bound_above, NUMBERS(shift->query, range->start, range->end, portion - 1), &range->start);
    }
    return first_number(writer, table->bound_below, NUMBERS(shift->query, range->start, portion), &range->end);
}

static int move_portion(
    struct connection *writer, const struct moving *table, const struct shift *shift, struct range range)
{
    int64_t values[] = {shift->query, range.start, range.end, shift->distance, shift->revision, seal};
    int code = run_numbers(writer, table->take, table->values, values);
    if (code == SQLITE_OK) code = RUN(writer, table->delete, shift->query, range.start, range.end);
    if (code == SQLITE_OK) code = plain(writer, table->put_back);
    if (code == SQLITE_OK) code = plain(writer, table->empty);
    return code;
}

// (The record of page one is that of a request, and stays where it is.)
static int shift_rows(struct connection *writer, const struct moving *table, const struct shift *shift)
{
    if (shift->distance == 0) return SQLITE_OK;
    int code = plain(writer, table->scratch);
    struct range left = {table == &ledger && shift->from < 1 && shift->distance > 0 ? 1 : shift->from, INT64_MAX};
    while (code == SQLITE_OK && left.start < left.end) {
        struct range range = left;
        code = cut_portion(writer, table, shift, &range);
        if (code == SQLITE_OK) code = move_portion(writer, table, shift, range);
        if (shift->distance > 0) left.end = range.start;
        else left.start = range.end;
    }
    return code;
}

static int shift_list(struct connection *writer, const struct shift *shift)
{
    struct version version;
    int code = find_query(writer, shift->query, &version);
    if (code == SQLITE_OK) code = shift_rows(writer, &pages, shift);
    if (code == SQLITE_OK) code = shift_rows(writer, &ledger, shift);
    return code == SQLITE_OK ? RUN(writer, QUERY_REVISE, shift->query, shift->revision, seal) : code;
}

int limit_shift(limit *store, int64_t query, int64_t from, int64_t distance, int64_t revision)
{
    struct shift shift = {query, from, distance, revision};
    int code = begun(store, &store->writer, BEGIN_WRITE);
    return code == SQLITE_OK ? ended(store, &store->writer, shift_list(&store->writer, &shift)) : code;
}
